"use strict";
// What the pages that draw share: several calls as one answer, and the colours of the theme for a canvas.
{
  const { useEffect, useRef, useState } = cstp.hooks;

  /**
   * What `ask(call, signal)` finds, asked when `key` changes: { result, error, loading, again, of }. `key` null asks
   * nothing. The last result stays while the next one is awaited; `of` is the key that it belongs to.
   */
  function useGather(key, ask) {
    const { call } = cstp.useVisitor();
    const [state, setState] = useState({ result: null, error: null, loading: key !== null, of: null });
    const [round, setRound] = useState(0);
    useEffect(() => {
      if (key === null) {
        setState({ result: null, error: null, loading: false, of: null });
        return undefined;
      }
      const stop = new AbortController();
      let timer;
      setState((known) => ({ ...known, loading: true }));
      const gather = () =>
        ask(call, stop.signal).then(
          (result) => !stop.signal.aborted && setState({ result, error: null, loading: false, of: key }),
          (error) => {
            if (stop.signal.aborted || error.name === "AbortError") return;
            setState((known) => ({ result: known.result, error, loading: false, of: key }));
            if (error.code === 0) timer = setTimeout(gather, 2000);
          },
        );
      gather();
      return () => {
        clearTimeout(timer);
        stop.abort();
      };
    }, [key, round, call]);
    return { ...state, loading: state.loading || state.of !== key, again: () => setRound(round + 1) };
  }

  const COLOURS = [
    "page", "surface", "raised", "line", "control", "text", "muted", "accent", "good", "warn", "bad",
    "series-1", "series-2", "series-3",
  ];

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  /** The colours of style.css by their names, another object whenever the theme changes. */
  function useColours() {
    const [known, setKnown] = useState(colours);
    useEffect(() => {
      const follow = () => setKnown(colours());
      const watch = new MutationObserver(follow);
      watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      const dark = matchMedia("(prefers-color-scheme: dark)");
      dark.addEventListener("change", follow);
      follow(); // the theme may have been set since the first look
      return () => {
        watch.disconnect();
        dark.removeEventListener("change", follow);
      };
    }, []);
    return known;
  }

  /** Whether the libraries of vendor/ are there, or the error for which they are not. */
  function useLibrary(...names) {
    const [state, setState] = useState({ ready: false, error: null });
    const alive = useRef(true);
    useEffect(() => {
      Promise.all(names.map(cstp.library)).then(
        () => alive.current && setState({ ready: true, error: null }),
        (error) => alive.current && setState({ ready: false, error }),
      );
      return () => {
        alive.current = false;
      };
    }, []);
    return state;
  }

  Object.assign(cstp, { useGather, useColours, useLibrary });
}
