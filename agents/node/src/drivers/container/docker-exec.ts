import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { callDocker, DEFAULT_LIMIT_MS, DockerAway, DockerRefusal } from './docker-http.js';

const Created = z.object({ Id: z.string() });
const Inspected = z.object({
  Running: z.boolean(),
  Pid: z.int().default(0),
  ExitCode: z.int().nullish(),
});

export interface ExecState {
  running: boolean;
  /** In Docker's PID namespace; 0: it has none. */
  pid: number;
  /** Null: it has not ended. */
  exit_code: number | null;
}

interface ExecConfig {
  command: readonly string[];
  env: readonly string[];
}

const API = '/v1.41';

/** A command with a terminal in a container that runs, by Docker's API (`exec`). Rejects with DockerRefusal or DockerAway. */
export class DockerExec {
  constructor(private readonly socketPath: string) {}

  async create(container: string, { command, env }: ExecConfig): Promise<string> {
    const attach = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: true };
    const body = { ...attach, Cmd: command, Env: env };
    const answer = await callDocker(this.socketPath, {
      to: 'make a shell in a container',
      method: 'POST',
      path: `${API}/containers/${container}/exec`,
      body,
    });
    return Created.parse(JSON.parse(answer.toString('utf8'))).Id;
  }

  /** Its terminal: what is written is typed, what is read is shown. A command that cannot be started says so there. */
  start(id: string, limit_ms = DEFAULT_LIMIT_MS): Promise<Socket> {
    const path = `${API}/exec/${id}/start`;
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', connection: 'Upgrade', upgrade: 'tcp' };
      const { socketPath } = this;
      const sent = httpRequest({ socketPath, method: 'POST', path, headers, agent: false });
      const late = setTimeout(() => sent.destroy(new Error('no answer in time')), limit_ms);
      sent.on('upgrade', (_, socket: Socket, head) => {
        clearTimeout(late);
        // Errors end in `close`.
        socket.on('error', () => undefined);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      sent.on('response', (response) => {
        clearTimeout(late);
        response.destroy();
        reject(new DockerRefusal(`Docker: gives no terminal (${response.statusCode})`, response.statusCode ?? 0));
      });
      sent.on('error', (error) => {
        clearTimeout(late);
        reject(new DockerAway(`Docker does not answer: ${error.message}`));
      });
      sent.end(JSON.stringify({ Detach: false, Tty: true }));
    });
  }

  async resize(id: string, columns: number, rows: number): Promise<void> {
    const path = `${API}/exec/${id}/resize?h=${rows}&w=${columns}`;
    await callDocker(this.socketPath, { to: 'resize a terminal', method: 'POST', path });
  }

  async inspect(id: string): Promise<ExecState> {
    const path = `${API}/exec/${id}/json`;
    const answer = await callDocker(this.socketPath, { to: 'look at a shell', method: 'GET', path });
    const { Running: running, Pid: pid, ExitCode } = Inspected.parse(JSON.parse(answer.toString('utf8')));
    return { running, pid, exit_code: ExitCode ?? null };
  }
}
