import type { IncomingMessage } from 'node:http';
import { type BackoffLimits, backoffMs } from '../../platform/backoff.js';
import { log } from '../../platform/log.js';
import { DriverError } from '../nf-driver.js';
import type { BoxImage } from './box-image.js';
import { NODE_LABEL } from './container-config.js';
import type { ContainerDeath, DockerClient } from './docker-client.js';
import { DockerAway } from './docker-http.js';
import { tryContainer } from './docker-trial.js';

/** A Docker that restarts is back within this time, and nobody plans without it meanwhile. */
export const ABSENCE_MS = 10_000;
/** One that is away is looked for often, one that answers and will not do seldom. */
const AWAY: BackoffLimits = { first_ms: 250, most_ms: 2000 };
const UNFIT: BackoffLimits = { first_ms: 1000, most_ms: 60_000 };

interface DockerListener {
  /** Docker is there (again), and whatever became of containers meanwhile was not told. */
  up(): void;
  /** It is offered no more. */
  lost(why: string): void;
  /** Why there is none has changed. */
  absent(why: string): void;
  death(death: ContainerDeath): void;
}

/** Docker as it comes and goes. It is there while it tells of deaths, has the image and was seen to run it. */
export class DockerHost {
  /** Resolves when Docker was looked for once. */
  readonly looked: Promise<void>;
  private onLooked!: () => void;
  private image: string | null = null;
  private has: readonly string[] = [];
  private version = '';
  private absence = 'Docker was not looked for yet';
  private offered = false;
  private proven = false;
  private stream: IncomingMessage | null = null;
  private attempts = 0;
  private timer: NodeJS.Timeout | null = null;
  private lossTimer: NodeJS.Timeout | null = null;
  private stopped = false;

  constructor(
    readonly docker: DockerClient,
    private readonly source: BoxImage,
    private readonly node: string,
    private readonly listener: DockerListener,
    private readonly absence_ms = ABSENCE_MS,
  ) {
    this.looked = new Promise((resolve) => {
      this.onLooked = resolve;
    });
  }

  /** Whether to count on it; a short absence does not matter. */
  get available(): boolean {
    return this.offered;
  }

  /** Which Docker it is, or why there is none. */
  get detail(): string {
    return this.offered ? `Docker ${this.version}` : this.absence;
  }

  /** Label of the containers of this node. */
  get label(): string {
    return `${NODE_LABEL}=${this.node}`;
  }

  /** NFs that the image has. */
  get nfs(): readonly string[] {
    return this.has;
  }

  /** The image to run, which another agent may have removed when nothing ran it. Throws while Docker is away or will not do. */
  async provideImage(): Promise<string> {
    if (this.image === null) throw new DriverError(this.absence);
    return this.source.provide(this.docker);
  }

  /** Resolves after one try; others follow by themselves, also when it was lost later. */
  async connect(): Promise<void> {
    try {
      this.version = await this.docker.ping();
      this.has = await this.source.nfs();
      const image = await this.source.provide(this.docker);
      await this.prove(image);
      await this.source
        .removeOthers(this.docker, image)
        .catch((error) => log('warning', `old images: ${error.message}`));
      this.listen(await this.docker.watchDeaths(this.label, (death) => this.listener.death(death)));
      this.present(image);
    } catch (error) {
      this.absent((error as Error).message, error instanceof DockerAway ? AWAY : UNFIT);
    }
    this.onLooked();
  }

  stop(): void {
    this.stopped = true;
    for (const timer of [this.timer, this.lossTimer]) if (timer) clearTimeout(timer);
    this.stream?.destroy();
  }

  /** Once, not after each short absence. */
  private async prove(image: string): Promise<void> {
    if (this.proven) return;
    await tryContainer(this.docker, image, this.node);
    this.proven = true;
  }

  private listen(stream: IncomingMessage): void {
    this.stream = stream;
    if (this.stopped) stream.destroy();
    stream.once('close', () => {
      if (this.stream === stream) this.absent('Docker ended', AWAY);
    });
  }

  private present(image: string): void {
    if (this.stopped) return;
    if (this.lossTimer) clearTimeout(this.lossTimer);
    this.lossTimer = null;
    this.image = image;
    this.attempts = 0;
    this.offered = true;
    this.listener.up();
  }

  private absent(why: string, pause: BackoffLimits): void {
    if (this.stopped) return;
    const another = why !== this.absence;
    this.stream = null;
    this.image = null;
    this.absence = why;
    this.attempts++;
    this.timer = setTimeout(() => void this.connect(), backoffMs(pause, this.attempts, Math.random())).unref();
    if (this.offered) this.lossTimer ??= setTimeout(() => this.lose(), this.absence_ms).unref();
    else if (another) this.listener.absent(why);
  }

  private lose(): void {
    this.lossTimer = null;
    this.offered = false;
    this.listener.lost(this.absence);
  }
}
