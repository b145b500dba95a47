import type { IncomingMessage } from 'node:http';
import type { ContainerImage } from '@orrery/contract';
import { monotonicMs } from '../../platform/monotonic.js';
import { DriverError } from '../nf-driver.js';
import type { DockerClient, FoundImage } from './docker-client.js';
import { DockerAway, DockerRefusal } from './docker-http.js';
import type { ImageArchives } from './image-archives.js';
import { imageError } from './image-words.js';
import { PullProgress } from './pull-progress.js';
import { type RegistryLogin, RegistryLogins, registryOf } from './registry-logins.js';

export interface PullLimits {
  /** Of a whole pull. */
  all_ms: number;
  /** Without news of it. */
  silence_ms: number;
}

export const PULL_LIMITS: PullLimits = { all_ms: 15 * 60_000, silence_ms: 60_000 };

type Wanted = Pick<ContainerImage, 'reference' | 'pull'>;

/** Who wants an image. */
export interface Buyer {
  instance_id: string;
  /** Told how far a pull is. */
  progress(text: string): void;
  /** Aborted: it is not wanted any more. */
  signal: AbortSignal;
}

/** Images of users in Docker. */
export class ImageStore {
  constructor(
    private readonly docker: DockerClient,
    private readonly node: string,
    private readonly archives: Pick<ImageArchives, 'fileOf'> = { fileOf: () => null },
    private readonly logins = new RegistryLogins(null),
    private readonly limits: PullLimits = PULL_LIMITS,
  ) {}

  /** The image, pulled as its policy says. Throws a DriverError in plain words. */
  async provide({ reference, pull }: Wanted, buyer: Buyer): Promise<FoundImage> {
    const { instance_id: id } = buyer;
    try {
      const there = pull === 'always' ? null : await this.docker.findImage(reference);
      if (there) return there;
      const archived = pull === 'always' ? null : await this.load(reference, buyer);
      if (archived) return archived;
      if (pull === 'never')
        throw new DriverError(
          `/image/reference: Docker on ${this.node} does not have ${reference}, and /image/pull is "never": build or load it there (npm run build:images, docker load)`,
          id,
        );
      await this.pull(reference, buyer);
      const pulled = await this.docker.findImage(reference);
      if (pulled) return pulled;
      throw new DriverError(`/image/reference: ${reference} was removed as soon as it was pulled`, id);
    } catch (error) {
      throw imageError(error, { reference }, id);
    }
  }

  private async load(reference: string, { progress }: Buyer): Promise<FoundImage | null> {
    const file = this.archives.fileOf(reference);
    if (file === null) return null;
    progress(`loading ${reference}`);
    await this.docker.loadImages(file);
    return this.docker.findImage(reference);
  }

  private async pull(reference: string, buyer: Buyer): Promise<void> {
    buyer.progress(`pulling ${reference}`);
    const registry = registryOf(reference);
    const login = await this.logins.loginFor(registry);
    await this.pullAs(login, reference, buyer).catch((error) => {
      throw imageError(error, { reference }, buyer.instance_id, this.logins.advice(registry, login));
    });
  }

  private async pullAs(login: RegistryLogin | null, reference: string, { signal, progress }: Buyer): Promise<void> {
    const [name, version] = partsOf(reference);
    let stream: IncomingMessage | null = null;
    const abort = () => stream?.destroy();
    signal.addEventListener('abort', abort);
    try {
      stream = await this.docker.pull(name, version, login, signal);
      if (signal.aborted) abort();
      await this.follow(stream, (text) => progress(`pulling ${reference}: ${text}`));
    } catch (error) {
      if (signal.aborted) throw new DriverError('the pull was given up: it is not wanted any more');
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      stream?.destroy();
    }
  }

  private follow(stream: IncomingMessage, tell: (text: string) => void): Promise<void> {
    const { all_ms, silence_ms } = this.limits;
    const untilMs = monotonicMs() + all_ms;
    const progress = new PullProgress();
    return new Promise((resolve, reject) => {
      const late = (ms: number, what: string) => {
        reject(new DockerAway(`the pull was given up: ${what} ${ms / 1000} s`));
        stream.destroy();
      };
      let timer: NodeJS.Timeout;
      const wait = () => {
        clearTimeout(timer);
        const left_ms = untilMs - monotonicMs();
        const [ms, what] =
          left_ms < silence_ms ? ([all_ms, 'not done in'] as const) : ([silence_ms, 'no news for'] as const);
        timer = setTimeout(() => late(ms, what), Math.max(0, Math.min(silence_ms, left_ms))).unref();
      };
      wait();
      stream.setEncoding('utf8').on('data', (text: string) => {
        wait();
        const error = progress.take(text);
        if (error !== null) reject(new DockerRefusal(error, 200));
        else tell(progress.text);
      });
      stream.on('end', () => resolve());
      stream.on('error', (error) => reject(new DockerAway(error.message)));
      stream.on('close', () => {
        clearTimeout(timer);
        reject(new DockerAway('Docker ended the pull'));
      });
    });
  }
}

/** As Docker takes them: the name, and the digest or else the tag. */
function partsOf(reference: string): [name: string, version: string] {
  const [tagged, digest] = reference.split('@');
  const colon = tagged!.lastIndexOf(':');
  const isTagged = colon > tagged!.lastIndexOf('/');
  const name = isTagged ? tagged!.slice(0, colon) : tagged!;
  return [name, digest ?? tagged!.slice(colon + 1)];
}
