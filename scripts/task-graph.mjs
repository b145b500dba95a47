/**
 * Runs tasks concurrently, each as soon as its dependencies have succeeded. At most one task per lane runs at a time;
 * among those that are ready, the first in the list starts.
 *
 * A task is `{ name, needs?: string[], lane?: string, run(): Promise<T> }`. A task whose dependency failed is not run
 * and counts as failed with the same error.
 */
export class TaskGraph {
  #tasks;
  #settled = new Map();
  #busyLanes = new Set();
  #waiting;

  constructor(tasks) {
    this.#tasks = tasks;
    this.#waiting = new Set(tasks);
    for (const { name, needs = [] } of tasks) {
      const missing = needs.find((need) => !tasks.some((task) => task.name === need));
      if (missing) throw new Error(`task ${name} needs ${missing}, which is not in the graph`);
      let resolve;
      const promise = new Promise((done) => {
        resolve = done;
      });
      this.#settled.set(name, { promise, resolve, outcome: null });
    }
    this.#requireOrder();
  }

  /** Starts the ready tasks; returns this graph. */
  start() {
    for (const task of [...this.#waiting]) {
      if (!this.#waiting.has(task)) continue;
      const needs = (task.needs ?? []).map((name) => this.#settled.get(name).outcome);
      const failed = needs.find((outcome) => outcome && !outcome.ok);
      if (failed) {
        this.#waiting.delete(task);
        this.#settle(task, { ok: false, ran: false, error: failed.error });
      } else if (needs.every(Boolean) && !this.#busyLanes.has(task.lane)) {
        this.#waiting.delete(task);
        this.#begin(task);
      }
    }
    return this;
  }

  /** Result of a task. Throws the error of the task, or of a dependency that failed. */
  async result(name) {
    const outcome = await this.#settled.get(name).promise;
    if (!outcome.ok) throw outcome.error;
    return outcome.value;
  }

  /** `{ name, ok, ran, value?, error? }` of every task, in the order of the list, once all have ended. */
  async outcomes() {
    return Promise.all(this.#tasks.map(async ({ name }) => ({ name, ...(await this.#settled.get(name).promise) })));
  }

  async #begin(task) {
    if (task.lane) this.#busyLanes.add(task.lane);
    let outcome;
    try {
      outcome = { ok: true, ran: true, value: await task.run() };
    } catch (error) {
      outcome = { ok: false, ran: true, error };
    }
    this.#busyLanes.delete(task.lane);
    this.#settle(task, outcome);
  }

  #settle({ name }, outcome) {
    const settled = this.#settled.get(name);
    settled.outcome = outcome;
    settled.resolve(outcome);
    this.start();
  }

  /** Throws if tasks depend on each other in a cycle. */
  #requireOrder() {
    const done = new Set();
    for (let before = -1; before !== done.size; ) {
      before = done.size;
      for (const { name, needs = [] } of this.#tasks) if (needs.every((need) => done.has(need))) done.add(name);
    }
    const stuck = this.#tasks.find(({ name }) => !done.has(name));
    if (stuck) throw new Error(`task ${stuck.name} waits for itself`);
  }
}

/** The tasks with the given names and their dependencies, in the order of the list. */
export function withNeeds(tasks, names) {
  const wanted = new Set();
  const want = (name) => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const need of tasks.find((task) => task.name === name)?.needs ?? []) want(need);
  };
  for (const name of names) want(name);
  return tasks.filter(({ name }) => wanted.has(name));
}
