// A long list of which only the visible part is in the document.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Window {
  first: number;
  last: number;
  top: number;
  width: number;
  height: number;
}

/**
 * A scrolling box over `rows` rows of `rowHeight` px. `draw` gets the rows in view and where they begin. `jump`
 * scrolls to a row when it changes.
 */
export function Virtual({ rows, rowHeight, label, draw, jump, className, role }: { rows: number; rowHeight: number; label: string; draw: (w: Window) => ComponentChildren; jump?: number | null; className?: string; role?: "region" | "list" }) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400, width: 600 });

  useEffect(() => {
    const element = box.current!;
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - 4);
  const last = Math.min(rows, Math.ceil((view.top + view.height) / rowHeight) + 4);
  useLayoutEffect(() => {
    inner.current!.style.height = `${rows * rowHeight}px`;
    layer.current!.style.transform = `translateY(${first * rowHeight}px)`;
  });
  useEffect(() => {
    if (jump === null || jump === undefined || jump < 0) return;
    const element = box.current!;
    const y = jump * rowHeight;
    if (y < element.scrollTop || y + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = Math.max(0, y - element.clientHeight / 3);
  }, [jump]);

  return (
    <div ref={box} class={`virtual ${className ?? ""}`} role={role ?? "region"} aria-label={label} tabIndex={0}>
      <div ref={inner} class="virtual-inner">
        <div ref={layer} class="virtual-layer">
          {draw({ first, last, top: first * rowHeight, width: view.width, height: view.height })}
        </div>
      </div>
    </div>
  );
}
