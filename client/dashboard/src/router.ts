// Addresses of the page. Pure: what the address bar says, and back.

export interface Route {
  /** Decoded segments after the base path. */
  path: string[];
  query: URLSearchParams;
}

/**
 * One segment for an id. Browsers resolve the segments `.` and `..`, also percent-encoded, so those
 * get a tilde in front, and so does whatever begins with one.
 */
export function segment(id: string): string {
  const guarded = id === "." || id === ".." || id === "" || id.startsWith("~") ? `~${id}` : id;
  try {
    return encodeURIComponent(guarded);
  } catch {
    return encodeURIComponent(guarded.replace(/[\ud800-\udfff]/g, "\ufffd"));
  }
}

export function unsegment(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    decoded = text;
  }
  return decoded.startsWith("~") ? decoded.slice(1) : decoded;
}

export function parse(pathname: string, search: string, base = ""): Route {
  const inside = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return {
    path: inside.split("/").filter((part) => part !== "").map(unsegment),
    query: new URLSearchParams(search),
  };
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function href(base: string, path: string[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) {
      search.set(key, value === true ? "1" : String(value));
    }
  }
  const text = search.toString();
  return `${base}/${path.map(segment).join("/")}${text ? `?${text}` : ""}`;
}
