import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { callDocker, DockerRefusal, openStream } from './docker-http.js';
import type { RegistryLogin } from './registry-logins.js';

export interface Container {
  id: string;
  /** The ID of its image. */
  image: string;
  running: boolean;
  /** In Docker's PID namespace; 0 while it is not running. */
  pid: number;
  exit_code: number;
  out_of_memory: boolean;
  /** What it may have at most; 0: no limit of its own. */
  memory_limit_bytes: number;
  /** Frozen by somebody: its processes do nothing. */
  paused: boolean;
  /** As Docker's own check of its health finds it; null: it has none. */
  health: ContainerCheck | null;
  labels: Readonly<Record<string, string>>;
}

export interface ContainerCheck {
  status: 'starting' | 'healthy' | 'unhealthy';
  /** In a row. */
  failures: number;
  /** What the last check said. */
  said: string;
}

export interface FoundImage {
  id: string;
  /** Whether it says how its health is checked, and what it runs. */
  has_check: boolean;
  has_command: boolean;
}

export interface ContainerUsage {
  cpu_ns: number;
  memory_bytes: number;
}

/** The end of a container. */
export interface ContainerDeath {
  id: string;
  labels: Record<string, string>;
}

const Version = z.object({
  Version: z.string().default('of an unknown version'),
  ApiVersion: z.string(),
  MinAPIVersion: z.string(),
});
const Inspected = z.object({
  Id: z.string(),
  Image: z.string(),
  HostConfig: z.object({ Memory: z.int().default(0) }).default({ Memory: 0 }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).default({}),
  State: z.object({
    Running: z.boolean(),
    Pid: z.int(),
    ExitCode: z.int(),
    OOMKilled: z.boolean(),
    Paused: z.boolean().default(false),
    Health: z
      .object({
        Status: z.string(),
        FailingStreak: z.int().default(0),
        Log: z.array(z.object({ Output: z.string().default('') })).nullish(),
      })
      .nullish(),
  }),
});
const CHECKS = ['starting', 'healthy', 'unhealthy'] as const;
const Words = z.array(z.string()).nullish();
const ImageFound = z.object({
  Id: z.string(),
  Config: z.object({ Healthcheck: z.object({ Test: Words }).nullish(), Cmd: Words, Entrypoint: Words }).nullish(),
});
const NamedImages = z.array(z.object({ RepoTags: Words, RepoDigests: Words, Created: z.number().default(0) }));
const Listed = z.array(
  z.object({ Id: z.string(), Names: z.array(z.string()), Labels: z.record(z.string(), z.string()) }),
);
const Images = z.array(z.object({ Id: z.string(), RepoTags: z.array(z.string()).nullable() }));
const Usage = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: z.int() }) }),
  memory_stats: z.object({ usage: z.int().default(0) }),
});
const Death = z.object({ id: z.string(), Actor: z.object({ Attributes: z.record(z.string(), z.string()) }) });

/** The API version that this client was written for; a Docker that has dropped it reports its minimum. */
const API = { major: 1, minor: 41 };
const EVENT_LIMIT_CHARS = 1024 * 1024;
const PING_LIMIT_MS = 3000;
const START_LIMIT_MS = 30_000;
const IMPORT_LIMIT_MS = 60_000;
/** For Docker to have asked the registry. */
const PULL_BEGIN_LIMIT_MS = 60_000;

/**
 * The part of the Docker Engine API that the agent needs, over its unix socket. Rejects with DockerRefusal or
 * DockerAway.
 */
export class DockerClient {
  private version = `v${API.major}.${API.minor}`;

  constructor(private readonly socket: string) {}

  /** Returns Docker's version and learns which API version it speaks. */
  async ping(): Promise<string> {
    const answer = await callDocker(this.socket, {
      to: 'say which Docker it is',
      method: 'GET',
      path: '/version',
      limit_ms: PING_LIMIT_MS,
    });
    const { Version: version, ApiVersion, MinAPIVersion } = Version.parse(parse(answer));
    if (minorOf(ApiVersion) < API.minor)
      throw new DockerRefusal(`Docker: its API ${ApiVersion} is older than ${API.major}.${API.minor}`, 400);
    this.version = `v${API.major}.${Math.max(API.minor, minorOf(MinAPIVersion))}`;
    return version;
  }

  /** Rejects if Docker does not answer in time. */
  async probe(limit_ms: number): Promise<void> {
    await callDocker(this.socket, { to: 'say that it is there', method: 'GET', path: '/_ping', limit_ms });
  }

  async hasImage(reference: string): Promise<boolean> {
    return (await this.absentIsNull(this.get('look for an image', `/images/${reference}/json`))) !== null;
  }

  async findImage(reference: string): Promise<FoundImage | null> {
    const answer = await this.absentIsNull(this.get('look for an image', `/images/${reference}/json`));
    if (!answer) return null;
    const { Id: id, Config } = ImageFound.parse(parse(answer));
    const check = Config?.Healthcheck?.Test?.[0] ?? 'NONE';
    const has_command = (Config?.Cmd?.length ?? 0) + (Config?.Entrypoint?.length ?? 0) > 0;
    return { id, has_check: check !== 'NONE', has_command };
  }

  /** Names of all images, newest first: by tag and by digest. */
  async imageNames(): Promise<string[]> {
    const images = NamedImages.parse(parse(await this.get('list its images', '/images/json')));
    return images
      .sort((a, b) => b.Created - a.Created)
      .flatMap(({ RepoTags, RepoDigests }) => [...(RepoTags ?? []), ...(RepoDigests ?? [])])
      .filter((name) => !name.includes('<none>'));
  }

  /** Loads images that were saved in a tar file. */
  async loadImages(file: string): Promise<void> {
    const path = `/${this.version}/images/load?quiet=true`;
    requireNoError(
      await callDocker(this.socket, { to: 'load images', method: 'POST', path, file, limit_ms: IMPORT_LIMIT_MS }),
    );
  }

  /**
   * The lines in which Docker tells of a pull as it goes on. It gives up when the signal is aborted or the stream destroyed.
   * `login`: of the registry; null: it is asked without one.
   */
  pull(name: string, version: string, login: RegistryLogin | null, signal: AbortSignal): Promise<IncomingMessage> {
    const query = new URLSearchParams({ fromImage: name, tag: version });
    const path = `/${this.version}/images/create?${query}`;
    const headers = login && { 'x-registry-auth': padded(Buffer.from(JSON.stringify(login)).toString('base64url')) };
    return openStream(this.socket, {
      to: 'pull an image',
      method: 'POST',
      path,
      ...(headers && { headers }),
      limit_ms: PULL_BEGIN_LIMIT_MS,
      signal,
    });
  }

  async images(by: { reference: string } | { label: string }): Promise<{ id: string; tags: string[] }[]> {
    const wanted = Object.fromEntries(Object.entries(by).map(([key, value]) => [key, [value]]));
    const images = Images.parse(parse(await this.get('list its images', `/images/json?${filters(wanted)}`)));
    // An older Docker lists an image without a name under this one.
    return images.map(({ Id, RepoTags }) => ({
      id: Id,
      tags: (RepoTags ?? []).filter((tag) => tag !== '<none>:<none>'),
    }));
  }

  /** Keeps an image that a container uses. */
  async removeImage(name: string): Promise<void> {
    const path = `/${this.version}/images/${name}`;
    await callDocker(this.socket, { to: 'remove an image', method: 'DELETE', path, limit_ms: START_LIMIT_MS }).catch(
      (error) => {
        if (!(error instanceof DockerRefusal && [404, 409].includes(error.status))) throw error;
      },
    );
  }

  /** Creates an image from the root file system in a tar file. */
  async importImage(repo: string, tag: string, file: string, changes: string[]): Promise<void> {
    const query = new URLSearchParams([
      ['fromSrc', '-'],
      ['repo', repo],
      ['tag', tag],
    ]);
    for (const change of changes) query.append('changes', change);
    const path = `/${this.version}/images/create?${query}`;
    const limit_ms = IMPORT_LIMIT_MS;
    const answer = await callDocker(this.socket, { to: 'import an image', method: 'POST', path, file, limit_ms });
    requireNoError(answer);
  }

  async create(name: string, config: Record<string, unknown>): Promise<string> {
    const answer = await this.post('create a container', `/containers/create?name=${encodeURIComponent(name)}`, config);
    return z.object({ Id: z.string() }).parse(parse(answer)).Id;
  }

  async start(id: string): Promise<void> {
    await this.post('start a container', `/containers/${id}/start`);
  }

  /** From now on its processes use no more CPU than that. */
  async limit(id: string, nanoCpus: number): Promise<void> {
    await this.post('limit a container', `/containers/${id}/update`, { NanoCpus: nanoCpus });
  }

  /** Kills its processes, also while it is paused. One that does not run counts as killed. */
  async kill(id: string): Promise<void> {
    await this.post('kill a container', `/containers/${id}/kill`).catch((error) => {
      if (!(error instanceof DockerRefusal && [404, 409].includes(error.status))) throw error;
    });
  }

  /** Kills it if it runs. One that does not exist counts as removed. */
  async remove(id: string): Promise<void> {
    const path = `/${this.version}/containers/${id}?force=true&v=true`;
    const call = { to: 'remove a container', method: 'DELETE', path, limit_ms: START_LIMIT_MS } as const;
    await this.absentIsNull(callDocker(this.socket, call));
  }

  async inspect(id: string, limit_ms?: number): Promise<Container | null> {
    const answer = await this.absentIsNull(this.get('look at a container', `/containers/${id}/json`, limit_ms));
    if (!answer) return null;
    const { Id, Image, HostConfig, Config, State } = Inspected.parse(parse(answer));
    const { Running: running, Pid: pid, ExitCode: exit_code, OOMKilled: out_of_memory, Paused: paused } = State;
    const memory_limit_bytes = HostConfig.Memory;
    const health = checkOf(State.Health);
    const labels = Config.Labels ?? {};
    return { id: Id, image: Image, running, pid, exit_code, out_of_memory, memory_limit_bytes, paused, health, labels };
  }

  /** Containers with a label, including stopped ones. */
  async list(label: string): Promise<{ id: string; name: string; labels: Record<string, string> }[]> {
    const answer = await this.get('list its containers', `/containers/json?all=true&${filters({ label: [label] })}`);
    return Listed.parse(parse(answer)).map(({ Id, Names, Labels }) => ({
      id: Id,
      name: Names[0]!.slice(1),
      labels: Labels,
    }));
  }

  async usage(id: string): Promise<ContainerUsage> {
    const answer = await this.get('measure a container', `/containers/${id}/stats?stream=false&one-shot=true`);
    const { cpu_stats, memory_stats } = Usage.parse(parse(answer));
    return { cpu_ns: cpu_stats.cpu_usage.total_usage, memory_bytes: memory_stats.usage };
  }

  /** The last lines that it wrote. */
  async logs(id: string, count: number, limit_ms?: number): Promise<string[]> {
    const path = `/containers/${id}/logs?stdout=true&stderr=true&tail=${count}`;
    return lines(demultiplex(await this.get('read the log of a container', path, limit_ms)));
  }

  /** As `logs`, each line after its time; null: there is no such container. `since`: seconds of the epoch. */
  async timedLogs(id: string, count: number, since?: string): Promise<string[] | null> {
    const from = since === undefined ? '' : `&since=${since}`;
    const path = `/containers/${id}/logs?stdout=true&stderr=true&timestamps=true&tail=${count}${from}`;
    const answer = await this.absentIsNull(this.get('read the log of a container', path));
    return answer && lines(demultiplex(answer));
  }

  /**
   * Deaths of containers with a label from now on. Resolves when Docker starts to report them; its `close` ends the
   * stream.
   */
  async watchDeaths(label: string, onDeath: (death: ContainerDeath) => void): Promise<IncomingMessage> {
    const query = filters({ type: ['container'], event: ['die'], label: [label] });
    const stream = await openStream(this.socket, {
      to: 'tell when containers end',
      method: 'GET',
      path: `/${this.version}/events?${query}`,
    });
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const complete = (rest + text).split('\n');
      rest = complete.pop()!;
      try {
        if (rest.length > EVENT_LIMIT_CHARS) throw new Error('an event is too long');
        for (const line of complete.filter(Boolean)) onDeath(readDeath(line));
      } catch (error) {
        stream.destroy(error as Error);
      }
    });
    // Only `close` matters.
    stream.on('error', () => undefined);
    return stream;
  }

  private get(to: string, path: string, limit_ms?: number): Promise<Buffer> {
    return callDocker(this.socket, { to, method: 'GET', path: `/${this.version}${path}`, limit_ms });
  }

  private post(to: string, path: string, body?: unknown): Promise<Buffer> {
    const limit_ms = START_LIMIT_MS;
    return callDocker(this.socket, { to, method: 'POST', path: `/${this.version}${path}`, body, limit_ms });
  }

  private async absentIsNull<T>(answer: Promise<T>): Promise<T | null> {
    return answer.catch((error) => {
      if (error instanceof DockerRefusal && error.status === 404) return null;
      throw error;
    });
  }
}

/** A failure after the first byte arrives as a separate line, with status 200. */
function requireNoError(answer: Buffer): void {
  for (const line of lines(answer)) {
    const { error } = JSON.parse(line) as { error?: string };
    if (error !== undefined) throw new DockerRefusal(`Docker: ${error}`, 200);
  }
}

function readDeath(line: string): ContainerDeath {
  const { id, Actor } = Death.parse(JSON.parse(line));
  return { id, labels: Actor.Attributes };
}

function checkOf(health: z.infer<typeof Inspected>['State']['Health']): ContainerCheck | null {
  const status = CHECKS.find((one) => one === health?.Status);
  if (!health || !status) return null;
  return { status, failures: health.FailingStreak, said: health.Log?.at(-1)?.Output ?? '' };
}

/** Docker ignores what is not. */
const padded = (base64: string): string => base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
const parse = (answer: Buffer): unknown => JSON.parse(answer.toString('utf8'));
const lines = (text: Buffer): string[] => text.toString('utf8').split(/\r?\n/).filter(Boolean);
const minorOf = (version: string): number => Number(version.split('.')[1]);
const filters = (by: Record<string, string[]>): string => `filters=${encodeURIComponent(JSON.stringify(by))}`;

/** Output of a container without a terminal: each piece has an 8-byte header of stream, three zeros and length. */
function demultiplex(framed: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at + 8 <= framed.length; ) {
    const end = at + 8 + framed.readUInt32BE(at + 4);
    pieces.push(framed.subarray(at + 8, end));
    at = end;
  }
  return Buffer.concat(pieces);
}
