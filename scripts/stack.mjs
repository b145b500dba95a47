import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { ClaimedError, claim } from './claim.mjs';
import { Client, until } from './client.mjs';
import { rotatingLog } from './rotating-log.mjs';
import { LOG_DIR, ROOT, runDir, STATE_DIR } from './setup/paths.mjs';
import { SetupError } from './setup/progress.mjs';

/** What a twin could leave behind on the machine, by name. */
const machine = () => ({
  interfaces: new Set(readdirSync('/sys/class/net')),
  hugepages: readFileSync('/proc/sys/vm/nr_hugepages', 'utf8').trim(),
});

/** The process group of a process; null if it is gone. Its name, in parentheses, may contain blanks. */
function groupOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
  } catch {
    return null;
  }
}

const SERVER = resolve(ROOT, 'backend/server/dist/main.js');
const PROCESS_END_MS = 3000;
const VANISH_MS = 3000;

/**
 * The running product: the server process (which owns Redis and the twin) and a client of its API. Except for the
 * purpose `demo`, its state, including the store, is private and is removed when it stops. Only one stack per purpose
 * runs in a checkout; it removes only what it claimed itself.
 */
export class Stack extends Client {
  #child;
  /** Of every server that was started: the twin is in that of the server which started it. */
  #groups = [];
  #exit;
  #before;
  #releases = [];
  #port;

  /** `port` is that of the console; it may be set later, before `start`. */
  constructor({ port, purpose, twin }) {
    super(`http://127.0.0.1:${port}`);
    this.#port = port;
    this.runDir = runDir(purpose);
    this.kept = purpose === 'demo';
    this.stateDir = this.kept ? STATE_DIR : `${STATE_DIR}-${purpose}-${process.pid}`;
    this.logFile = resolve(LOG_DIR, this.kept ? 'server.log' : `server-${purpose}.log`);
    this.twin = twin;
  }

  get port() {
    return this.#port;
  }

  set port(port) {
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  /**
   * Claims the directories of this stack, unless it has them. Throws, and changes nothing, if another one runs in them.
   */
  async claim() {
    if (this.#releases.length > 0) return;
    const tell = () => `by process ${process.pid}${this.port ? `, ${this.url}` : ''}`;
    try {
      for (const directory of [this.runDir, this.stateDir]) this.#releases.push(await claim(directory, tell));
      await this.#noOrphans();
    } catch (error) {
      await this.#release();
      if (error instanceof ClaimedError)
        throw new SetupError(
          `Orrery already runs from this checkout (${error.told}). Use that one, or stop it first with Ctrl-C.`,
        );
      throw error;
    }
    if (!this.kept) this.#removeStatesOfTheDead();
  }

  async #release() {
    await Promise.all(this.#releases.splice(0).map((release) => release()));
  }

  /** The server may outlive a killed command. */
  async #noOrphans() {
    const deadline = Date.now() + PROCESS_END_MS;
    for (let found = this.processes(); found.length > 0; found = this.processes()) {
      if (Date.now() > deadline) {
        // The server stops everything else with itself.
        const servers = found.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(SERVER));
        throw new SetupError(
          `The server of an earlier command, which was killed, still runs from this checkout. Stop it: kill ${(servers.length > 0 ? servers : found).join(' ')}`,
        );
      }
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  /** State that a failed run kept for its logs is removed by the next run with the same purpose. */
  #removeStatesOfTheDead() {
    const stem = basename(this.stateDir).replace(/\d+$/, '');
    for (const name of readdirSync(dirname(this.stateDir))) {
      const pid = name.startsWith(stem) ? name.slice(stem.length) : '';
      if (/^\d+$/.test(pid) && !existsSync(`/proc/${pid}`))
        rmSync(resolve(dirname(this.stateDir), name), { recursive: true, force: true });
    }
  }

  /** Starts the server, for the first time or after it was killed, and waits until it is healthy. Throws if it ends before that. */
  async start() {
    await this.claim();
    this.#before ??= machine();
    mkdirSync(LOG_DIR, { recursive: true, mode: 0o700 });
    const log = rotatingLog(this.logFile);
    this.#child = spawn(process.execPath, [SERVER], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: {
        ...process.env,
        ORRERY_PORT: String(this.port),
        ORRERY_RUN_DIR: this.runDir,
        ORRERY_STATE_DIR: this.stateDir,
        ORRERY_TWIN: this.twin ? 'on' : 'off',
        ...(this.kept ? {} : { REDIS_URL: '' }),
      },
    });
    this.#groups.push(this.#child.pid);
    this.#child.stdout.pipe(log, { end: false });
    this.#child.stderr.pipe(log, { end: false });
    this.#child.on('close', () => log.end());
    this.#exit = new Promise((done) => this.#child.on('exit', (code, signal) => done(code ?? signal)));
    let ended;
    this.#exit.then((code) => {
      ended = code;
    });
    await until('start of the server', async () => {
      if (ended !== undefined) {
        const tail = readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
        throw new SetupError(`The server ended with ${ended} (${this.logFile}):\n${tail}`);
      }
      const answer = await fetch(`${this.url}/healthz`);
      return answer.ok ? true : null;
    });
    this.secret = readFileSync(resolve(this.stateDir, 'admin-secret'), 'utf8').trim();
    await this.signIn(this.secret);
  }

  get serverPid() {
    return this.#child.pid;
  }

  get exited() {
    return this.#exit;
  }

  /**
   * Stops the server and everything that it started, even if it is already dead; may be called again. State that is not
   * the demo's is removed unless `keepState`. Does nothing if this stack never claimed its directories.
   */
  async stop({ graceMs = 10_000, keepState = this.kept } = {}) {
    if (this.#releases.length === 0) return;
    if (this.#child) {
      this.#child.kill('SIGTERM');
      const timer = setTimeout(() => this.#killGroups(), graceMs);
      await this.#exit;
      clearTimeout(timer);
      this.#killGroups();
    }
    rmSync(this.runDir, { recursive: true, force: true });
    if (!keepState) rmSync(this.stateDir, { recursive: true, force: true });
    await this.#release();
  }

  /** The twin outlives a killed server so that traffic continues; here nothing may outlive the server. */
  #killGroups() {
    // A group without a process of this stack may be another program's by now.
    const ours = new Set(this.processes().map(groupOf));
    for (const group of this.#groups.filter((pid) => ours.has(pid))) {
      try {
        process.kill(-group, 'SIGKILL');
      } catch {
        // The group is already gone.
      }
    }
  }

  /** PIDs of the processes that have this stack's run directory in their arguments or environment, from /proc. */
  processes() {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .filter((pid) => {
        try {
          const parts = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
          return parts.some((text) => text.includes(this.runDir));
        } catch {
          return false;
        }
      });
  }

  /**
   * What should be gone after `stop` and is not. Waits for what the kernel is still removing, and for what other
   * programs created in the meantime and will remove.
   */
  async leftovers() {
    const deadline = Date.now() + VANISH_MS;
    for (;;) {
      const found = this.#remains();
      if (found.length === 0 || Date.now() > deadline) return found;
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  #remains() {
    const names = this.processes().map((pid) => {
      try {
        return `process ${pid} ${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()}`;
      } catch {
        return null;
      }
    });
    const mounts = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(this.runDir));
    const now = machine();
    const interfaces = [...now.interfaces].filter((name) => !this.#before.interfaces.has(name));
    return [
      ...names.filter(Boolean),
      ...mounts.map((line) => `mount ${line.split(' ')[1]}`),
      ...interfaces.map((name) => `interface ${name}`),
      ...(now.hugepages === this.#before.hugepages ? [] : [`${now.hugepages} hugepages`]),
    ];
  }
}
