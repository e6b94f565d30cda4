"use strict";
// Who visits: a token that is pasted, or one that the server gives for a link that is good once.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;
  const KEPT = "cstp-token"; // in the session storage of the tab: a reload keeps it, and it ends with the tab
  const SHAPE = /^cstp_[0-9a-zA-Z]+_[\w-]+$/;

  /** The token of the link that led here; the code leaves the address at once. */
  async function tokenOfLink() {
    const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
    if (!code) return null;
    history.replaceState(null, "", `${location.pathname}#/decisions`);
    dispatchEvent(new Event("cstp:address"));
    const reply = await fetch("session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
      cache: "no-store",
    });
    const answer = await reply.json().catch(() => ({}));
    if (!reply.ok) throw new Error(answer.error ?? `The link was refused (HTTP ${reply.status}).`);
    return answer.token;
  }

  /** Who the token makes the visitor. */
  async function visitorOf(token) {
    const call = cstp.connect(token);
    const who = await call("cstp.whoami");
    const projects = who.projects === null ? "all projects" : who.projects.join(", ");
    return {
      call,
      read: cstp.reader(token),
      agent: who.agent,
      title: who.server.agent,
      scopes: who.scopes,
      about: `${who.agent}: ${who.scopes.join(", ")}; up to ${who.clearance}; ${projects}; until ${who.expiresAt}`,
      may: (scope) => who.scopes.includes(scope),
      live: true,
    };
  }

  function kept() {
    try {
      return sessionStorage.getItem(KEPT);
    } catch {
      return null;
    }
  }

  function keep(token) {
    try {
      if (token === null) sessionStorage.removeItem(KEPT);
      else sessionStorage.setItem(KEPT, token);
    } catch {
      // the browser keeps nothing; the token lasts as long as the page
    }
  }

  /** What is wrong with a pasted text that cannot be a token, or null. */
  function notToken(text) {
    if (SHAPE.test(text)) return null;
    if (/#code=/.test(text)) return "This is a link: open it in the address bar instead.";
    return "This is no token: one begins with cstp_ and has no blanks. Paste it alone, without export CSTP_TOKEN= or quotes.";
  }

  function SignIn({ enter, problem }) {
    const [token, setToken] = useState("");
    const [error, setError] = useState(problem);
    const [busy, setBusy] = useState(false);
    const box = useRef(null);
    useEffect(() => {
      document.title = "Sign in – CSTP";
      box.current.focus();
    }, []);
    useEffect(() => setError(problem), [problem]);
    const submit = async (event) => {
      event.preventDefault();
      const wrong = notToken(token.trim());
      setError(wrong);
      if (wrong) return box.current.focus();
      setBusy(true);
      try {
        await enter(token.trim());
      } catch (failure) {
        setError(failure.message);
        setBusy(false);
        box.current.focus();
      }
      return undefined;
    };
    return html`<main class="sign-in">
      <h1>CSTP</h1>
      <p>What this server's agent decided, learned and remembers. The page sees what the token may see.</p>
      <form onSubmit=${submit}>
        <label for="token">Token</label>
        <input id="token" ref=${box} type="password" autocomplete="off" spellcheck=${false} required value=${token}
          placeholder="cstp_…" aria-describedby=${error ? "sign-in-error what-to-paste" : "what-to-paste"} aria-invalid=${error ? "true" : null}
          onInput=${(event) => setToken(event.currentTarget.value)} />
        <p id="what-to-paste" class="hint">Paste a token: one line that begins with <code>cstp_</code>. The demo prints one as
          ${" "}<code>CSTP_TOKEN</code>; for any other server its operator makes one with
          ${" "}<code>cstp token create --agent NAME</code>. It is kept until you sign out or close this tab.</p>
        ${error && html`<p id="sign-in-error" class="failure" role="alert">${error}</p>`}
        <button type="submit" disabled=${busy || !token.trim()}>Sign in</button>
      </form>
      <p class="hint">On the server's machine, <code>cstp ui</code> opens this page signed in, without a token to paste.</p>
    </main>`;
  }

  /** The whole page: who visits, then the frame. */
  function Page() {
    const [visitor, setVisitor] = useState(null);
    const [problem, setProblem] = useState(null);
    const [ready, setReady] = useState(false);
    const enter = async (token) => {
      const found = await visitorOf(token);
      keep(token);
      setProblem(null);
      setVisitor({ ...found, token });
    };
    const leave = (reason = null) => {
      keep(null);
      setProblem(reason);
      setVisitor(null);
    };
    useEffect(() => {
      let timer;
      const byLink = async () => {
        const token = await tokenOfLink();
        if (token) await enter(token);
        return token !== null;
      };
      /** By the token that this tab keeps; asked again while the server is away. */
      const byKept = async (otherwise) => {
        try {
          const token = kept();
          if (token) await enter(token);
          else setProblem(otherwise);
        } catch (error) {
          setProblem(error.message);
          if (error.code === -32001) keep(null); // a reload need not try it again
          if (error.code === 0) timer = setTimeout(byKept, 2000, otherwise);
        }
      };
      const start = async () => {
        try {
          if (!(await byLink())) await byKept(null);
        } catch (error) {
          await byKept(error.message);
        }
        setReady(true);
      };
      const follow = () => byLink().catch((error) => setProblem(error.message)); // a link opened in a tab of this page
      start();
      addEventListener("hashchange", follow);
      return () => {
        clearTimeout(timer);
        removeEventListener("hashchange", follow);
      };
    }, []);
    if (!ready) return html`<p class="starting">Loading …</p>`;
    if (visitor === null) return html`<${SignIn} enter=${enter} problem=${problem} />`;
    return html`<${cstp.Frame} visitor=${watched(visitor, leave)} leave=${() => leave()} />`;
  }

  const seen = new WeakMap();

  /** The visitor, whose session ends when the server no longer accepts the token. */
  function watched(visitor, leave) {
    if (!seen.has(visitor)) {
      const call = async (...given) => {
        try {
          return await visitor.call(...given);
        } catch (error) {
          if (error.code === -32001) leave(error.message);
          throw error;
        }
      };
      seen.set(visitor, { ...visitor, call });
    }
    return seen.get(visitor);
  }

  cstp.Page = Page;
}
