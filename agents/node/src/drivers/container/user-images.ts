import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerImage } from '@orrery/contract';
import type { InstanceRecord } from '../hosted-instance.js';
import { DriverError } from '../nf-driver.js';
import { type Common, DIGEST_LABEL } from './container-config.js';
import type { DockerClient, FoundImage } from './docker-client.js';
import { imageConfig } from './image-config.js';
import type { ImageStore } from './image-store.js';
import { imageError } from './image-words.js';

interface Start {
  of: Omit<Common, 'image'>;
  /** Of what is desired. */
  digest: string;
  image: ContainerImage;
  config: InstanceRecord['config'];
  /** Folder on the host with what the descriptor writes. */
  files: string;
}

/** An image, and what was desired when it was provided. */
interface Provided {
  digest: string;
  id: string;
}

/** `text`: how far it is. */
interface Work {
  abort: AbortController;
  text: string | null;
}

/** What runs, and what is to follow it. */
const MOST_PROVIDED = 2;

/** Images of instances: provided once for what is desired, so that a restart needs no registry and runs what ran before. */
export class UserImages {
  /** By instance, the latest first. */
  private readonly provided = new Map<string, readonly Provided[]>();
  private readonly underWay = new Map<string, Set<Work>>();

  constructor(
    private readonly store: ImageStore,
    private readonly docker: DockerClient,
    /** Called when the progress of an instance has changed. */
    private readonly onProgress: () => void,
  ) {}

  /** `name`: that of its container. Others of the instance go on: what runs is restarted while its successor is pulled. */
  async provide({ instance_id: id, digest }: InstanceRecord, image: ContainerImage, name: string): Promise<void> {
    const work: Work = { abort: new AbortController(), text: null };
    const all = this.underWay.get(id) ?? new Set();
    this.underWay.set(id, all.add(work));
    try {
      const provided = (await this.stillThere(id, digest, name)) ?? (await this.obtain(id, digest, image, work));
      if (work.abort.signal.aborted) throw new DriverError('its image is not wanted any more', id);
      this.remember(id, provided);
    } finally {
      all.delete(work);
      if (all.size === 0 && this.underWay.get(id) === all) this.underWay.delete(id);
    }
  }

  /** What was provided for the same before. */
  private async stillThere(id: string, digest: string, name: string): Promise<Provided | null> {
    const known = this.providedFor(id, digest) ?? (await this.formerOf(name));
    return known?.digest === digest && (await this.docker.hasImage(known.id)) ? known : null;
  }

  private async obtain(id: string, digest: string, image: ContainerImage, work: Work): Promise<Provided> {
    const progress = (text: string) => {
      if (work.text === text) return;
      work.text = text;
      this.onProgress();
    };
    const found = await this.store.provide(image, { instance_id: id, progress, signal: work.abort.signal });
    requireFit(found, image, id);
    return { digest, id: found.id };
  }

  private providedFor(id: string, digest: string): Provided | undefined {
    return this.provided.get(id)?.find((one) => one.digest === digest);
  }

  private remember(id: string, image: Provided): void {
    const others = (this.provided.get(id) ?? []).filter(({ digest }) => digest !== image.digest);
    this.provided.set(id, [image, ...others].slice(0, MOST_PROVIDED));
  }

  /** That of a container which is still there, also if an earlier agent started it. */
  private async formerOf(name: string): Promise<Provided | null> {
    const found = await this.docker.inspect(name).catch(() => null);
    const digest = found?.labels[DIGEST_LABEL];
    return found && digest !== undefined ? { digest, id: found.image } : null;
  }

  progress(id: string): string | null {
    return [...(this.underWay.get(id) ?? [])].find(({ text }) => text !== null)?.text ?? null;
  }

  abandon(id: string): void {
    for (const { abort } of this.underWay.get(id) ?? []) abort.abort();
  }

  forget(id: string): void {
    this.abandon(id);
    this.provided.delete(id);
  }

  /** A container that does not start is removed. */
  async start(name: string, holder: string, { of, digest, image, config, files }: Start): Promise<void> {
    const { docker } = this;
    const { id } = this.providedFor(of.instance_id, digest)!;
    makeLegible(files);
    try {
      const made = imageConfig({ ...of, image: id }, holder, image, config, files);
      const Labels = { ...made.Labels, [DIGEST_LABEL]: digest };
      await docker.start(await docker.create(name, { ...made, Labels }));
    } catch (error) {
      await docker.remove(name).catch(() => undefined);
      throw imageError(error, image, of.instance_id);
    }
  }
}

function requireFit({ has_check, has_command }: FoundImage, image: ContainerImage, id: string): void {
  const { health, command, entrypoint, reference } = image;
  if (health?.by === 'image' && !has_check)
    throw new DriverError(`/image/health/by: ${reference} has no HEALTHCHECK`, id, true);
  if (!has_command && !command && !entrypoint)
    throw new DriverError(`/image/command: is missing, and ${reference} does not say what it runs`, id, true);
}

/** The processes of an image need not be root. The folder above is the agent's alone. */
function makeLegible(files: string): void {
  chmodSync(files, 0o755);
  for (const entry of readdirSync(files, { withFileTypes: true }))
    if (entry.isFile()) chmodSync(join(files, entry.name), 0o644);
}
