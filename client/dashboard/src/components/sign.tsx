// The signs of states. Drawn, because not every system's fonts have them.
import type { Tone } from "../words";

const paths: Record<Tone, string> = {
  ok: "M2 6.5 L5 9.5 L10 2.5",
  run: "",
  wait: "M3 1.5 H9 M3 10.5 H9 M3.6 1.5 C3.6 5 8.4 7 8.4 10.5 M8.4 1.5 C8.4 5 3.6 7 3.6 10.5",
  bad: "M2.5 2.5 L9.5 9.5 M9.5 2.5 L2.5 9.5",
  off: "M6 1.2 a4.8 4.8 0 1 0 0.01 0 M2.6 2.6 L9.4 9.4",
};

/** A sign inside a picture, 12 by 12. */
export function SignShape({ tone, x = 0, y = 0 }: { tone: Tone; x?: number; y?: number }) {
  return (
    <g class={`sign-shape ${tone}`} transform={`translate(${x} ${y})`}>
      {tone === "run" ? <circle cx={6} cy={6} r={4} /> : <path d={paths[tone]} />}
    </g>
  );
}

/** A sign in a line of text. A word stands beside it. */
export function Sign({ tone }: { tone: Tone }) {
  return (
    <svg class={`sign ${tone}`} viewBox="0 0 12 12" width={12} height={12} aria-hidden="true" focusable="false">
      <SignShape tone={tone} />
    </svg>
  );
}
