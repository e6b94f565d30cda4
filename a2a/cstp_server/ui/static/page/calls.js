"use strict";
// Calls of the server: one POST each, with the visitor's token, and errors that give the remedy.
{
  const { useLayoutEffect, useState, useRef } = cstp.hooks;

  /** An error of a call. `code` is that of JSON-RPC, or 0 where there was no answer; `field` what was wrong, if known. */
  class CallError extends Error {
    constructor(message, code = 0, data = null) {
      super(message);
      this.code = code;
      this.data = data;
    }
  }

  const remedies = {
    "-32001": "The token is not accepted: it is wrong, expired or revoked. Sign in with another one.",
    "-32003": "A part of the server does not answer. Its name is in the message; `cstp doctor` looks for the cause.",
  };

  function explained(error) {
    const { code, message, data } = error;
    if (code === -32602 && data?.violations) {
      return data.violations.map((one) => `${one.field}: ${one.message}`).join("; ");
    }
    if (code === -32002) return `Too many calls: wait ${data?.retryAfter ?? 1} s (${data?.policy ?? "limit"}).`;
    if (code === -32007) return `There is no record ${data?.id ?? "of that id"}, or the token may not see it.`;
    if (code === -32009) return `The token lacks the scope ${data?.scope ?? "for this"}.`;
    if (code === -32003) return `${message}: ${data?.component ?? "a part"}. ${remedies[code]}`;
    return remedies[code] ?? `${message} (${code})`;
  }

  let number = 0;

  /** A function `call(method, params, signal)` that asks the server of this page; raises CallError. */
  function connect(token) {
    return async function call(method, params = {}, signal = undefined) {
      let reply;
      try {
        reply = await fetch("../cstp", {
          method: "POST",
          headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
          body: JSON.stringify({ jsonrpc: "2.0", id: ++number, method, params: dense(params) }),
          signal,
          cache: "no-store",
        });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new CallError("The server does not answer. This page asks again when it is back.", 0);
      }
      let answer;
      try {
        answer = await reply.json();
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new CallError(`The answer was no JSON (HTTP ${reply.status}); is this the right server?`, 0);
      }
      if (answer.error) throw new CallError(explained(answer.error), answer.error.code, answer.error.data);
      return answer.result;
    };
  }

  /** A function `read(path, signal)` that gets what the server has elsewhere, as { status, text }; raises CallError. */
  function reader(token) {
    return async function read(path, signal = undefined) {
      try {
        const reply = await fetch(`../${path}`, {
          headers: { Authorization: `Bearer ${token}` }, signal, cache: "no-store",
        });
        return { status: reply.status, text: await reply.text() };
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new CallError("The server does not answer. This page asks again when it is back.", 0);
      }
    };
  }

  /** The parameters that are set: nothing else may be sent. */
  function dense(params) {
    return Object.fromEntries(
      Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== ""),
    );
  }

  /**
   * Calls a method when `params` change: { result, error, loading, again }. The last result stays while the next one
   * is awaited, so nothing moves meanwhile. `params` null asks nothing. An unreachable server is asked again.
   */
  function useCall(method, params, options = {}) {
    const { call } = cstp.useVisitor();
    const [state, setState] = useState({ result: null, error: null, loading: params !== null });
    const [round, setRound] = useState(0);
    const key = params === null ? null : JSON.stringify(dense(params));
    const last = useRef(-Infinity); // when a question was last asked
    useLayoutEffect(() => {
      if (key === null) {
        setState({ result: null, error: null, loading: false });
        return undefined;
      }
      const stop = new AbortController();
      let timer;
      setState((known) => ({ ...known, loading: true }));
      const ask = () => {
        last.current = performance.now();
        return call(method, JSON.parse(key), stop.signal).then(
          (result) => setState({ result, error: null, loading: false, of: key }),
          (error) => {
            if (error.name === "AbortError") return;
            setState((known) => ({ result: options.keep ? known.result : null, error, loading: false, of: key }));
            if (error.code === 0) timer = setTimeout(ask, 2000);
          },
        );
      };
      // the first letter is asked for at once, those that follow fast wait for the next pause
      if (performance.now() - last.current >= (options.delay ?? 0)) ask();
      else timer = setTimeout(ask, options.delay);
      return () => {
        clearTimeout(timer);
        stop.abort();
      };
    }, [method, key, round, call]);
    return { ...state, again: () => setRound(round + 1) };
  }

  Object.assign(cstp, { CallError, connect, reader, useCall, dense });
}
