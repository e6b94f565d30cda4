"use strict";
// Runs in the page before its scripts. `measuring` times what a visitor sees, by the page's clock, in milliseconds.
{
  const MOST = 60_000; // ms that anything may take
  const QUIET = 150; // ms without a change, after which a page is settled

  /** The time of the first moment at which `holds()` is true; it is tried after each change of the document. */
  function when(holds, what) {
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        watch.disconnect();
        resolve(performance.now());
      };
      const timer = setTimeout(() => {
        watch.disconnect();
        reject(new Error(`the page did not show ${what} within ${MOST / 1000} s`));
      }, MOST);
      const watch = new MutationObserver(() => holds() && done());
      watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
      if (holds()) done();
    });
  }

  /** The time after the next frame is painted. */
  function painted() {
    return new Promise((resolve) => {
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now());
        port2.postMessage(null);
      });
    });
  }

  const all = (selector) => [...document.querySelectorAll(selector)];
  const text = (selector) => document.querySelector(selector)?.textContent.trim() ?? "";
  const here = (path) => location.hash.startsWith(`#/${path}`);

  /** The rows that the table's place shows, or null while one of them is awaited. */
  function rows() {
    const table = document.querySelector(".table");
    const first = table?.querySelector(".row");
    if (!here("decisions") || !first) return null;
    const total = Number(table.getAttribute("aria-rowcount")) - 1;
    const scale = (total * first.offsetHeight) / table.querySelector(".rows").clientHeight;
    const from = Math.floor((table.scrollTop * scale) / first.offsetHeight);
    const to = Math.min(total, from + Math.floor((table.clientHeight - 40) / first.offsetHeight));
    const known = new Map(all(".table .row").map((row) => [Number(row.getAttribute("aria-rowindex")) - 2, row]));
    const seen = Array.from({ length: to - from }, (_, at) => known.get(from + at));
    return seen.length && seen.every((row) => row?.querySelector("a")) ? seen : null;
  }

  const heading = (label) => all(".table .head button").find((one) => one.textContent.startsWith(label));
  const chip = (label) => all(".chip").find((one) => one.textContent.trim().startsWith(label));
  const choice = (label) => all("label.choice").find((one) => one.textContent.trim().startsWith(label))?.querySelector("select");
  const busy = () => all("[aria-busy=true], .placeholder, .starting, .waiting").length > 0;
  const results = () => all(".result").map((one) => `${one.querySelector("a").hash.split("?")[0]} ${one.querySelector(".meta").textContent}`).join("\n");
  const bars = () => document.querySelector(".chart")?.getAttribute("aria-label") ?? "";

  /** What a visitor does: `act` is the input, `shows` whether the document has the answer; `given` is of the round. */
  const actions = {
    sort(given) {
      const shows = () => heading(given)?.closest("[aria-sort]").ariaSort === "descending" && rows();
      return { act: () => heading(given).click(), shows };
    },
    view(given) {
      return { act: () => chip(given).click(), shows: () => chip(given)?.ariaPressed === "true" && rows() };
    },
    filter(given) {
      const act = () => {
        const select = choice("Category");
        select.value = given;
        if (select.value !== given) throw new Error(`there is no category ${given} to choose`);
        select.dispatchEvent(new Event("change", { bubbles: true }));
      };
      const column = () => all(".table .head > *").findIndex((one) => one.textContent.startsWith("Category"));
      return { act, shows: () => rows()?.every((row) => row.children[column()].textContent.trim() === given) };
    },
    scroll(given) {
      const table = document.querySelector(".table");
      const place = Math.round(given * (table.scrollHeight - table.clientHeight));
      return { act: () => { table.scrollTop = place; }, shows: () => table.scrollTop === place && rows() };
    },
    open() {
      const seen = rows();
      const link = seen[Math.floor(seen.length / 2)].querySelector("a");
      const title = link.textContent.trim();
      const shows = () => location.hash === link.hash && text("h1") === title && document.querySelector("article");
      return { act: () => link.click(), shows };
    },
    back() {
      return { act: () => history.back(), shows: rows };
    },
    type(given) {
      const box = document.getElementById("search-box");
      const before = results();
      const act = () => {
        box.value += given;
        box.dispatchEvent(new InputEvent("input", { bubbles: true, data: given, inputType: "insertText" }));
      };
      return { act, shows: () => results() !== before && all(".result").length > 0 };
    },
    earlier() {
      const before = bars();
      const name = text(".moments h2");
      const shows = () => bars() !== before && text(".moments h2") !== name && !busy() && all(".moments li").length > 0;
      return { act: () => all("button").find((one) => one.textContent.includes("Earlier")).click(), shows };
    },
  };

  /** Milliseconds from the input until the document has the answer. */
  async function interaction(name, given) {
    const { act, shows } = actions[name](given);
    if (shows()) throw new Error(`the page shows the answer of ${name} ${given} before it is asked`);
    const began = performance.now();
    act();
    return (await when(shows, `the answer of ${name} ${given ?? ""}`)) - began;
  }

  /** Waits until nothing is awaited and nothing has changed for a while. */
  async function settled() {
    await when(() => document.querySelector("h1") && !busy(), "a settled page");
    const deadline = performance.now() + MOST;
    for (let changed = true; changed && performance.now() < deadline;) {
      changed = false;
      const watch = new MutationObserver(() => { changed = true; });
      watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
      await new Promise((resolve) => setTimeout(resolve, QUIET));
      watch.disconnect();
      changed ||= busy();
    }
  }

  async function go(address) {
    if (location.hash !== `#/${address}`) {
      location.hash = `#/${address}`;
      await painted(); // the page follows its address after this task
    }
    await settled();
  }

  /** The longest frame and the longest task, in ms, of `frames` frames in which the table scrolls by `screens` each. */
  async function scrolling(frames, screens) {
    const table = document.querySelector(".table");
    const tasks = [];
    const watch = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)));
    watch.observe({ type: "longtask" });
    const times = [];
    await new Promise((resolve) => {
      const step = (time) => {
        times.push(time);
        table.scrollTop += screens * table.clientHeight;
        if (times.length > frames) resolve();
        else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    });
    tasks.push(...watch.takeRecords().map((one) => one.duration));
    watch.disconnect();
    const lengths = times.slice(1).map((time, at) => time - times[at]);
    return { frame: Math.max(...lengths), task: Math.max(0, ...tasks) };
  }

  window.measuring = {
    interaction,
    settled,
    go,
    scrolling,
    /** Milliseconds from navigation until the first rows are painted. */
    firstRow: when(rows, "a row of decisions").then(painted),
    /** Milliseconds from navigation until a page without scripts is painted. */
    loaded: new Promise((resolve) => addEventListener("load", resolve)).then(painted),
  };
  window.measuring.firstRow.catch(() => {}); // a page without rows never asks for it
}
