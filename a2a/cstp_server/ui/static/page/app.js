"use strict";
// The frame of the page: signing in, where one can go, and the keys that work everywhere.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  /** Where one can go. The pages are in files of their names; `pages` of an entry are shown under it, the `key`
   * after g leads there, and one that is `live` needs a server. */
  const PLACES = [
    { path: "decisions", key: "d", label: "Decisions", pages: ["decision"] },
    { path: "search", key: "s", label: "Search", pages: ["memory", "episode", "extraction"] },
    { path: "timeline", key: "t", label: "Timeline", pages: [] },
    { path: "graph", key: "g", label: "Graph", pages: [] },
    { path: "conversations", key: "c", label: "Conversations", pages: ["conversation"], live: true },
    { path: "knowledge", key: "k", label: "Knowledge", pages: ["passage"] },
    { path: "activity", key: "a", label: "Activity", pages: [], live: true },
    { path: "server", key: "v", label: "Server", pages: [], live: true },
  ];

  const THEMES = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" };

  function remembered(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // a browser may keep nothing
    }
  }

  function Theme() {
    const [theme, setTheme] = useState(remembered("cstp-theme") ?? "auto");
    useEffect(() => {
      document.documentElement.dataset.theme = theme;
    }, [theme]);
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(theme) + 1) % names.length];
    const choose = () => {
      setTheme(next);
      try {
        localStorage.setItem("cstp-theme", next); // at once: an effect would be lost if the page is loaded again
      } catch {
        // then it lasts as long as the page
      }
    };
    return html`<button type="button" class="small" onClick=${choose} title=${`Next: ${THEMES[next]}`}>
      ${THEMES[theme]}
    </button>`;
  }

  const placesOf = (visitor) => PLACES.filter((place) => visitor.live || !place.live);

  function Navigation({ here }) {
    const visitor = cstp.useVisitor();
    return html`<nav aria-label="Pages">
      <ul>
        ${placesOf(visitor).map(
          ({ path, label, pages }) => html`<li>
            <a href=${cstp.address.to(path)} aria-current=${path === here || pages.includes(here) ? "page" : null}>
              ${label}
            </a>
          </li>`,
        )}
      </ul>
    </nav>`;
  }

  /** The one box: it searches as one types, from any page. */
  function SearchBox({ address }) {
    const query = address.path[0] === "search" ? (address.params.q ?? "") : "";
    const [text, setText] = useState(query);
    const box = useRef(null);
    useEffect(() => {
      if (document.activeElement !== box.current) setText(query); // what is being typed is newer than the address
    }, [query]);
    const type = (event) => {
      const value = event.currentTarget.value;
      const searching = address.path[0] === "search";
      setText(value);
      cstp.address.go("search", { ...(searching ? address.params : {}), q: value }, { replace: searching });
    };
    return html`<form role="search" onSubmit=${(event) => event.preventDefault()}>
      <label class="hidden" for="search-box">Search everything</label>
      <input
        id="search-box"
        ref=${box}
        type="search"
        autocomplete="off"
        spellcheck=${false}
        placeholder="Search everything  ( / )"
        value=${text}
        onInput=${type}
      />
    </form>`;
  }

  const helpOf = (places) => [
    ["/", "go to the search box"],
    ["j, k or ↓, ↑", "next and previous result or row"],
    ["Enter", "open it"],
    [`g then ${places.map(({ key }) => key).join(", ")}`, `go to ${places.map(({ path }) => path).join(", ")}`],
    ["?", "this list"],
    ["Esc", "close it, or leave the box"],
  ];

  function focusedRow(step) {
    const rows = [...document.querySelectorAll("[data-row]")];
    const at = rows.indexOf(document.activeElement);
    const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    row?.focus();
    row?.scrollIntoView({ block: "nearest" });
  }

  function Keys() {
    const places = placesOf(cstp.useVisitor());
    const [help, setHelp] = useState(false);
    useEffect(() => {
      let going = false;
      const press = (event) => {
        const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
        const box = document.getElementById("search-box");
        if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
        if (document.activeElement === box && (event.key === "ArrowDown" || event.key === "Enter")) {
          event.preventDefault();
          focusedRow(0);
          return;
        }
        if (event.key === "Escape" && typing) document.activeElement.blur();
        if (typing) return;
        const actions = {
          "/": () => box?.focus(),
          j: () => focusedRow(1),
          k: () => focusedRow(-1),
          "?": () => setHelp(true),
        };
        if (document.activeElement?.matches("[data-row]")) {
          actions.ArrowDown = actions.j;
          actions.ArrowUp = actions.k;
        }
        const place = going && places.find(({ key }) => key === event.key);
        const action = place ? () => cstp.address.go(place.path) : actions[event.key];
        going = !going && event.key === "g";
        if (action) {
          event.preventDefault();
          action();
        }
      };
      addEventListener("keydown", press);
      return () => removeEventListener("keydown", press);
    }, []);
    return help
      ? html`<${cstp.Dialog} title="Keys" close=${() => setHelp(false)}>
          <dl class="keys">${helpOf(places).map(([key, text]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}</dl>
        </${cstp.Dialog}>`
      : null;
  }

  /** A page that a site has not, as it has no server. */
  function NeedsServer() {
    return html`<${cstp.PageHead} title="This page needs a server" />
      <p class="empty">These files hold decisions, episodes, what was extracted from sources, and passages.${" "}
        <a href=${cstp.address.to("decisions")}>Decisions</a></p>`;
  }

  function Unknown() {
    return html`<${cstp.PageHead} title="No such page" />
      <p class="empty">The address names no page. <a href=${cstp.address.to("decisions")}>Decisions</a></p>`;
  }

  /** A page that fails shows why in place, and the next page is shown as if nothing had happened. */
  class Guarded extends preact.Component {
    static getDerivedStateFromError(error) {
      return { error };
    }

    render({ children }, { error }) {
      if (!error) return children;
      return html`<${cstp.PageHead} title="This page cannot be shown" />
        <${cstp.Failure} error=${{ message: `The address or an answer was not understood: ${error.message}` }}
          again=${() => this.setState({ error: null })} />
        <p><a href=${cstp.address.to("decisions")}>Decisions</a></p>`;
    }
  }

  function Frame({ visitor, leave }) {
    const address = cstp.address.useAddress();
    const [here = "decisions", ...rest] = address.path;
    const shownUnder = PLACES.find(({ path, pages }) => path === here || pages.includes(here));
    const Page = shownUnder?.live && !visitor.live ? NeedsServer : (cstp.pages[here] ?? Unknown);
    const main = useRef(null);
    const place = [here, ...rest].join("/");
    const first = useRef(true);
    useEffect(() => {
      if (first.current) {
        first.current = false;
        return;
      }
      if (here !== "search") main.current.querySelector("h1")?.focus({ preventScroll: true }); // as a new page would
      scrollTo(0, 0);
    }, [place]);
    return html`<${cstp.Visitor.Provider} value=${visitor}>
      <a class="skip" href="#main" onClick=${(event) => {
        event.preventDefault();
        main.current.focus();
      }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href=${cstp.address.to("decisions")}>CSTP${
          visitor.title.toLowerCase() === "cstp" ? null : html` <span>${visitor.title}</span>`}</a>
        <${SearchBox} address=${address} />
        <div class="visitor">
          <span title=${visitor.about}>${visitor.asOf ? html`as of <${cstp.Time} at=${visitor.asOf} />` : visitor.agent}</span>
          <${Theme} />
          ${leave && html`<button type="button" class="small" onClick=${leave}>Sign out</button>`}
        </div>
        <${Navigation} here=${here} />
      </header>
      <main id="main" tabindex="-1" ref=${main}>
        <${Guarded} key=${here === "search" ? here : place}>
          <${Page} path=${rest} params=${address.params} />
        </${Guarded}>
      </main>
      <${Keys} />
    </${cstp.Visitor.Provider}>`;
  }

  Object.assign(cstp, { Frame, PLACES });
}
