// A button that opens a small panel.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Esc and a click elsewhere close it. */
export function Menu({ label, title, children, className, button: look = "bar-button" }: { label: ComponentChildren; title: string; children: (close: () => void) => ComponentChildren; className?: string; button?: string }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const away_ = (e: Event): void => {
      if (!box.current?.contains(e.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away_);
    return () => document.removeEventListener("pointerdown", away_);
  }, [open]);
  return (
    <div
      class={`menu ${className ?? ""}`}
      ref={box}
      onKeyDown={(e) => {
        if (e.key === "Escape" && open) {
          setOpen(false);
          button.current?.focus();
        }
      }}
    >
      <button ref={button} type="button" class={look} aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}
        <span class="hidden">, {title}</span>
      </button>
      {open && (
        <div class="menu-panel">
          {children(() => {
            setOpen(false);
            button.current?.focus();
          })}
        </div>
      )}
    </div>
  );
}
