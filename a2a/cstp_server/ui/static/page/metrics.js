"use strict";
// What the server counts: its metrics in Prometheus' text format, the families that the page shows, read again and again.
{
  const { useEffect, useRef, useState } = cstp.hooks;

  const FAMILIES = new Set([
    "cstp_calls_total", "cstp_call_seconds_sum", "cstp_call_seconds_count", "cstp_call_seconds_bucket",
    "cstp_http_answers_total", "cstp_index_lag", "cstp_index_records", "cstp_index_windows", "cstp_pool_threads",
    "cstp_pool_running", "cstp_pool_waiting", "cstp_requests_running", "cstp_requests_waiting", "cstp_followers",
    "cstp_audit_waiting", "cstp_source_up", "cstp_source_age_seconds", "cstp_embedding_cache_hits_total",
    "cstp_embedding_cache_misses_total", "cstp_event_loop_lag_seconds_sum", "cstp_event_loop_lag_seconds_count",
    "cstp_workers", "process_resident_memory_bytes", "process_start_time_seconds",
  ]);
  const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
  const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
  const ESCAPED = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

  /** The samples of the families above by name: { name: [{ labels, value }] }. */
  function parsedMetrics(text) {
    const found = {};
    for (const line of text.split("\n")) {
      const match = LINE.exec(line);
      if (!match || !FAMILIES.has(match[1])) continue;
      const labels = {};
      for (const [, name, value] of (match[2] ?? "").matchAll(LABEL)) {
        labels[name] = value.replace(/\\[n"\\]/g, (pair) => ESCAPED[pair]);
      }
      (found[match[1]] ??= []).push({ labels, value: Number(match[3].replace("Inf", "Infinity")) });
    }
    return found;
  }

  /** One sample, or the sum of those of a family; null where there is none. */
  function sampled(metrics, name) {
    const samples = metrics[name];
    return samples ? samples.reduce((sum, { value }) => sum + value, 0) : null;
  }

  /** How often each method was called, with how many errors, the mean and what 95 of 100 calls took, in seconds. */
  function callsByMethod(metrics) {
    const methods = new Map();
    const of = (name) => {
      if (!methods.has(name)) methods.set(name, { name, calls: 0, errors: 0, seconds: 0, buckets: [] });
      return methods.get(name);
    };
    for (const { labels, value } of metrics.cstp_calls_total ?? []) {
      of(labels.method).calls += value;
      if (labels.code !== "0") of(labels.method).errors += value;
    }
    for (const { labels, value } of metrics.cstp_call_seconds_sum ?? []) of(labels.method).seconds += value;
    for (const { labels, value } of metrics.cstp_call_seconds_bucket ?? []) {
      of(labels.method).buckets.push({ bound: labels.le === "+Inf" ? Infinity : Number(labels.le), value });
    }
    return [...methods.values()]
      .map((one) => ({
        ...one,
        mean: one.calls ? one.seconds / one.calls : null,
        most: one.buckets.sort((a, b) => a.bound - b.bound).find(({ value }) => value >= 0.95 * one.calls)?.bound ?? null,
      }))
      .sort((a, b) => b.calls - a.calls || a.name.localeCompare(b.name));
  }

  /**
   * Runs `ask(signal)` now, and every so many milliseconds while the page is visible: { result, error, at }. The last
   * result stays where a later one fails.
   */
  function useRepeated(ask, milliseconds) {
    const [state, setState] = useState({ result: null, error: null, at: null });
    const latest = useRef(ask);
    latest.current = ask;
    useEffect(() => {
      const stop = new AbortController();
      let timer;
      const turn = async () => {
        if (document.visibilityState === "visible") {
          try {
            const result = await latest.current(stop.signal);
            setState({ result, error: null, at: Date.now() });
          } catch (error) {
            if (error.name === "AbortError") return;
            setState((known) => ({ ...known, error }));
          }
        }
        if (!stop.signal.aborted) timer = setTimeout(turn, milliseconds);
      };
      const seen = () => {
        if (document.visibilityState !== "visible") return;
        clearTimeout(timer);
        turn();
      };
      turn();
      document.addEventListener("visibilitychange", seen);
      return () => {
        document.removeEventListener("visibilitychange", seen);
        clearTimeout(timer);
        stop.abort();
      };
    }, [milliseconds]);
    return state;
  }

  Object.assign(cstp, { parsedMetrics, sampled, callsByMethod, useRepeated });
}
