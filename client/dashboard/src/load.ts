// Reads of a screen: loading, errors, the last answer while a new one comes, and reading anew when
// something has changed.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "./api";
import { onMessage, want } from "./live";
import { hub, returned, settings } from "./state";

export interface Resource<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  reload: () => void;
}

const cache = new Map<string, unknown>();
function remember(path: string, data: unknown): void {
  cache.delete(path);
  cache.set(path, data);
  if (cache.size > 40) cache.delete(cache.keys().next().value!);
}

export interface Follow {
  /** Read anew when this object changes: `task:<id>`. */
  watch?: string;
  /** Read anew with the sampler, not more often than each so many ms. */
  every?: number;
}

export function useApi<T>(path: string | null, follow: Follow = {}): Resource<T> {
  const [, redraw] = useState(0);
  const state = useRef<{ path: string | null; data: T | null; error: ApiError | null; loading: boolean }>({ path: null, data: null, error: null, loading: true });
  const running = useRef<AbortController | null>(null);
  const last = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);

  const load = (): void => {
    if (path === null) return;
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    state.current.loading = true;
    last.current = Date.now();
    get<T>(path, controller.signal).then(
      (data) => {
        if (running.current !== controller) return;
        remember(path, data);
        state.current = { path, data, error: null, loading: false };
        redraw((n) => n + 1);
      },
      (error: unknown) => {
        if (running.current !== controller) return;
        if (!(error instanceof ApiError)) {
          if (controller.signal.aborted) return;
          throw error;
        }
        state.current = { ...state.current, path, error, loading: false };
        redraw((n) => n + 1);
      },
    );
  };

  if (state.current.path !== path) {
    state.current = { path, data: path === null ? null : ((cache.get(path) as T | undefined) ?? null), error: null, loading: path !== null };
  }

  useEffect(() => {
    load();
    return () => running.current?.abort();
  }, [path, returned.value]);

  // At most once a second, and once more at the end.
  const soon = (gap: number): void => {
    if (timer.current !== null) return;
    timer.current = setTimeout(
      () => {
        timer.current = null;
        if (settings.value.live) load();
      },
      Math.max(0, last.current + gap - Date.now()),
    );
  };
  const soonNow = useRef(soon);
  soonNow.current = soon;

  useEffect(() => {
    if (path === null || (!follow.watch && !follow.every)) return;
    const name = hub.value;
    const stops: (() => void)[] = [];
    if (follow.watch && name !== null) {
      const at = follow.watch.indexOf(":");
      const what = follow.watch.slice(0, at);
      const id = follow.watch.slice(at + 1);
      stops.push(want(`${what}:${name}:${id}`));
      stops.push(
        onMessage((m) => {
          if (m.type === "changed" && m.hub === name && m.what === what && m.id === id) soonNow.current(1000);
        }),
      );
    }
    if (follow.every && name === null) {
      // Without a hub there is no sampler.
      const gap = follow.every;
      const clock = setInterval(() => document.visibilityState === "visible" && settings.value.live && soonNow.current(gap), gap);
      stops.push(() => clearInterval(clock));
    } else if (follow.every) {
      const gap = follow.every;
      stops.push(
        onMessage((m) => {
          if (m.type === "glance" && m.glance.hub === name && Date.now() - last.current >= gap) soonNow.current(gap);
        }),
      );
    }
    return () => {
      for (const stop of stops) stop();
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [path, follow.watch, follow.every]);

  return { data: state.current.data, error: state.current.error, loading: state.current.loading, reload: load };
}
