"use strict";
// The state of the page is its address, so that it can be sent: #/decisions?status=accepted&sort=date
{
  const { useEffect, useState } = cstp.hooks;

  const LISTS = ["kind", "tag"]; // parameters that may repeat; of any other the last one counts

  /** The current address: { path: ["decisions"], params: {...} }; `kind` and `tag` are lists where they repeat. */
  function read() {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const params = Object.create(null);
    for (const [name, value] of new URLSearchParams(query)) {
      params[name] = name in params && LISTS.includes(name) ? [].concat(params[name], value) : value;
    }
    return { path: path.split("/").filter(Boolean).map(decoded), params };
  }

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** The address of a page. `params` that are empty are left out. */
  function to(path, params = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) {
      for (const one of [].concat(value ?? [])) {
        if (one !== "" && one !== false) query.append(name, one);
      }
    }
    const text = query.toString();
    return `#/${[].concat(path).map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
  }

  function go(path, params = {}, { replace = false } = {}) {
    const address = to(path, params);
    if (address === location.hash) return;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    dispatchEvent(new Event("cstp:address"));
  }

  function useAddress() {
    const [address, setAddress] = useState(read);
    useEffect(() => {
      const follow = () => setAddress(read());
      addEventListener("hashchange", follow);
      addEventListener("popstate", follow);
      addEventListener("cstp:address", follow);
      return () => {
        removeEventListener("hashchange", follow);
        removeEventListener("popstate", follow);
        removeEventListener("cstp:address", follow);
      };
    }, []);
    return address;
  }

  /** The page of a record: where a link to it leads. */
  function recordAddress(type, id, params = {}) {
    const pages = { decision: "decision", chunk: "passage", episode: "episode", extraction: "extraction" };
    return to([pages[type] ?? "memory", String(id)], params);
  }

  cstp.address = { read, to, go, useAddress, recordAddress };
}
