import type { IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { type BackoffLimits, backoffMs } from '../../platform/backoff.js';
import { log } from '../../platform/log.js';
import { monotonicMs } from '../../platform/monotonic.js';
import { DriverError } from '../nf-driver.js';
import { NODE_LABEL } from './container-config.js';
import type { ContainerDeath, DockerClient } from './docker-client.js';
import { DockerAway } from './docker-http.js';
import { tryContainer } from './docker-trial.js';
import type { NfImage } from './nf-image.js';

/** A restarting Docker is back within this time; until then nothing is planned without it. */
export const ABSENCE_MS = 10_000;
/** An unreachable Docker is tried often, an unsuitable one rarely. */
const AWAY: BackoffLimits = { first_ms: 250, most_ms: 2000 };
const UNFIT: BackoffLimits = { first_ms: 1000, most_ms: 60_000 };

export interface ProbeTiming {
  /** Between an answer and the next probe. */
  every_ms: number;
  /** A Docker that takes longer to answer is away. */
  limit_ms: number;
}

export const PROBE: ProbeTiming = { every_ms: 2000, limit_ms: 3000 };

/** Between two looks for images. After a change it is longer: where images come and go all the time, few are told of. */
const IMAGES_MS = { quiet: 10_000, changed: 60_000 };

interface DockerListener {
  /** Docker is available (again); what happened to containers in the meantime is unknown. */
  up(): void;
  /** Containers are no longer offered. */
  lost(why: string): void;
  /** The reason for its absence has changed. */
  absent(why: string): void;
  death(death: ContainerDeath): void;
  /** Docker has other images than before. */
  images(): void;
}

/**
 * Tracks whether Docker is available: it answers, reports container deaths, has the image and has run a trial container.
 */
export class DockerHost {
  /** Resolves after the first attempt to connect. */
  readonly looked: Promise<void>;
  private onLooked!: () => void;
  /** Names of the images that Docker has, newest first. */
  images: readonly string[] = [];
  private image: string | null = null;
  private has: readonly string[] = [];
  private version = '';
  private absence = 'Docker has not been probed yet';
  private offered = false;
  private proven = false;
  private stream: IncomingMessage | null = null;
  private attempts = 0;
  private timer: NodeJS.Timeout | null = null;
  private lossTimer: NodeJS.Timeout | null = null;
  private probeTimer: NodeJS.Timeout | null = null;
  private imagesDueMs = 0;
  private stopped = false;

  constructor(
    readonly docker: DockerClient,
    private readonly source: NfImage,
    private readonly node: string,
    private readonly listener: DockerListener,
    private readonly absence_ms = ABSENCE_MS,
    private readonly probe: ProbeTiming = PROBE,
  ) {
    this.looked = new Promise((resolve) => {
      this.onLooked = resolve;
    });
  }

  /** Whether containers are offered; a short outage does not matter. */
  get available(): boolean {
    return this.offered;
  }

  /** The Docker version, or why it is not available. */
  get detail(): string {
    return this.offered ? `Docker ${this.version}` : this.absence;
  }

  /** Label of this node's containers. */
  get label(): string {
    return `${NODE_LABEL}=${this.node}`;
  }

  /** NFs in the image. */
  get nfs(): readonly string[] {
    return this.has;
  }

  /**
   * The image to run; another agent may have removed it while nothing used it. Throws while Docker is unavailable or
   * unsuitable.
   */
  async provideImage(): Promise<string> {
    if (this.image === null) throw new DriverError(this.absence);
    return this.source.provide(this.docker);
  }

  /** Resolves after one attempt; retries follow automatically, also after a later loss. */
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
      await this.lookForImages();
      this.present(image);
    } catch (error) {
      this.absent((error as Error).message, error instanceof DockerAway ? AWAY : UNFIT);
    }
    this.onLooked();
  }

  stop(): void {
    this.stopped = true;
    for (const timer of [this.timer, this.lossTimer, this.probeTimer]) if (timer) clearTimeout(timer);
    this.stream?.destroy();
  }

  /** Without an answer, those of the last one count. */
  private async lookForImages(): Promise<void> {
    const now = await this.docker.imageNames().catch(() => this.images);
    const isNews = this.offered && !isDeepStrictEqual(now, this.images);
    this.images = now;
    this.imagesDueMs = monotonicMs() + (isNews ? IMAGES_MS.changed : IMAGES_MS.quiet);
    if (isNews) this.listener.images();
  }

  /** Once, not after each short outage. */
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
    this.watch();
    this.listener.up();
  }

  /** A hung Docker keeps its connections. */
  private watch(): void {
    const { stream } = this;
    this.probeTimer = setTimeout(async () => {
      const error = await this.docker.probe(this.probe.limit_ms).catch((error: unknown) => error);
      const isOver = () => this.stopped || this.stream !== stream;
      if (isOver() || stream === null) return;
      if (!(error instanceof DockerAway)) {
        if (monotonicMs() >= this.imagesDueMs) await this.lookForImages();
        if (!isOver()) this.watch();
        return;
      }
      this.absent(error.message, AWAY);
      stream.destroy();
    }, this.probe.every_ms).unref();
  }

  private absent(why: string, pause: BackoffLimits): void {
    if (this.stopped) return;
    const another = why !== this.absence;
    if (this.probeTimer) clearTimeout(this.probeTimer);
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
