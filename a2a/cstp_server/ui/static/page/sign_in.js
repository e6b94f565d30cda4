"use strict";
// Who visits: a token that is pasted, or one that the server gives for a link that is good once.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;
  const KEPT = "cstp-token"; // in the session storage of the tab, only where the visitor asks for it

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

  function SignIn({ enter, problem }) {
    const [token, setToken] = useState("");
    const [stay, setStay] = useState(false);
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
      setBusy(true);
      try {
        await enter(token.trim(), stay);
      } catch (failure) {
        setError(failure.message);
        setBusy(false);
        box.current.focus();
      }
    };
    return html`<main class="sign-in">
      <h1>CSTP</h1>
      <p>What this server's agent decided, learned and remembers. The page sees what the token may see.</p>
      <form onSubmit=${submit}>
        <label for="token">Token</label>
        <input id="token" ref=${box} type="password" autocomplete="off" spellcheck=${false} required value=${token}
          aria-describedby=${error ? "sign-in-error" : null} aria-invalid=${error ? "true" : null}
          onInput=${(event) => setToken(event.currentTarget.value)} />
        <label class="check">
          <input type="checkbox" checked=${stay} onChange=${(event) => setStay(event.currentTarget.checked)} />
          Keep it until this tab is closed
        </label>
        ${error && html`<p id="sign-in-error" class="failure" role="alert">${error}</p>`}
        <button type="submit" disabled=${busy || !token.trim()}>Sign in</button>
      </form>
      <p class="hint">On the server's machine, <code>cstp ui</code> opens this page signed in. A token is made by${" "}
        <code>cstp token create --agent NAME</code>.</p>
    </main>`;
  }

  /** The whole page: who visits, then the frame. */
  function Page() {
    const [visitor, setVisitor] = useState(null);
    const [keeps, setKeeps] = useState(false); // whether this tab keeps the token
    const [problem, setProblem] = useState(null);
    const [ready, setReady] = useState(false);
    const enter = async (token, stay) => {
      const found = await visitorOf(token);
      keep(stay ? token : null);
      setKeeps(stay);
      setProblem(null);
      setVisitor({ ...found, token });
    };
    const leave = (reason = null) => {
      keep(null);
      setProblem(reason);
      setVisitor(null);
    };
    const stay = () => {
      keep(visitor.token);
      setKeeps(true);
    };
    useEffect(() => {
      let timer;
      const byLink = async () => {
        const token = await tokenOfLink();
        if (token) await enter(token, false);
        return token !== null;
      };
      /** By the token that this tab keeps; asked again while the server is away. */
      const byKept = async (otherwise) => {
        try {
          const token = kept();
          if (token) await enter(token, true);
          else setProblem(otherwise);
        } catch (error) {
          setProblem(error.message);
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
    return html`<${cstp.Frame} visitor=${watched(visitor, leave)} leave=${() => leave()} stay=${keeps ? null : stay} />`;
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
