import type { IncomingMessage } from 'node:http';
import { backoffMs } from '../../platform/backoff.js';
import { DriverError } from '../nf-driver.js';
import type { BoxImage } from './box-image.js';
import type { ContainerDeath, DockerClient } from './docker-client.js';

const RECONNECT = { first_ms: 250, most_ms: 10_000 };

export interface DockerListener {
  /** Docker is there (again), and whatever became of containers meanwhile was not told. */
  up(): Promise<void>;
  down(why: string): void;
  death(death: ContainerDeath): void;
}

/** Docker as it comes and goes. It is there while it tells of deaths and has the image. */
export class DockerHost {
  private image: string | null = null;
  private absence = 'Docker was not looked for yet';
  private stream: IncomingMessage | null = null;
  private attempts = 0;
  private timer: NodeJS.Timeout | null = null;
  private stopped = false;

  constructor(
    readonly docker: DockerClient,
    private readonly source: BoxImage,
    private readonly label: string,
    private readonly listener: DockerListener,
  ) {}

  get available(): boolean {
    return this.image !== null;
  }

  /** The image to run. Throws while Docker is away or cannot have it. */
  get reference(): string {
    if (this.image === null) throw new DriverError(this.absence);
    return this.image;
  }

  /** Resolves after the first try. */
  async start(): Promise<void> {
    try {
      await this.docker.ping();
      const image = await this.source.provide(this.docker);
      const stream = await this.docker.watchDeaths(this.label, (death) => this.listener.death(death));
      this.stream = stream;
      if (this.stopped) return this.stop();
      stream.once('close', () => {
        if (this.stream === stream) this.again('Docker ended');
      });
      this.image = image;
      this.attempts = 0;
      await this.listener.up();
    } catch (error) {
      this.stream?.destroy();
      this.again((error as Error).message);
    }
  }

  stop(): void {
    this.stopped = true;
    if (this.timer) clearTimeout(this.timer);
    this.stream?.destroy();
  }

  private again(why: string): void {
    const was = this.available;
    this.stream = null;
    this.image = null;
    this.absence = why;
    if (this.stopped) return;
    if (was) this.listener.down(why);
    this.attempts++;
    this.timer = setTimeout(() => void this.start(), backoffMs(RECONNECT, this.attempts, Math.random())).unref();
  }
}
