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

/** Images of instances: provided once for what is desired, so that a restart needs no registry and runs what ran before. */
export class UserImages {
  private readonly provided = new Map<string, { digest: string; id: string }>();
  private readonly underWay = new Map<string, { abort: AbortController; text: string | null }>();

  constructor(
    private readonly store: ImageStore,
    private readonly docker: DockerClient,
    /** Called when the progress of an instance has changed. */
    private readonly onProgress: () => void,
  ) {}

  /** `name`: that of its container. */
  async provide({ instance_id: id, digest }: InstanceRecord, image: ContainerImage, name: string): Promise<void> {
    const known = this.provided.get(id) ?? (await this.formerOf(name));
    if (known?.digest === digest && (await this.docker.hasImage(known.id))) {
      this.provided.set(id, known);
      return;
    }
    this.abandon(id);
    const work = { abort: new AbortController(), text: null as string | null };
    this.underWay.set(id, work);
    const progress = (text: string) => {
      if (work.text === text) return;
      work.text = text;
      this.onProgress();
    };
    try {
      const found = await this.store.provide(image, { instance_id: id, progress, signal: work.abort.signal });
      requireFit(found, image, id);
      this.provided.set(id, { digest, id: found.id });
    } finally {
      if (this.underWay.get(id) === work) this.underWay.delete(id);
    }
  }

  /** That of a container which an earlier agent started. */
  private async formerOf(name: string): Promise<{ digest: string; id: string } | null> {
    const found = await this.docker.inspect(name).catch(() => null);
    const digest = found?.labels[DIGEST_LABEL];
    return found && digest !== undefined ? { digest, id: found.image } : null;
  }

  progress(id: string): string | null {
    return this.underWay.get(id)?.text ?? null;
  }

  abandon(id: string): void {
    this.underWay.get(id)?.abort.abort();
  }

  forget(id: string): void {
    this.abandon(id);
    this.provided.delete(id);
  }

  /** A container that does not start is removed. */
  async start(name: string, holder: string, { of, digest, image, config, files }: Start): Promise<void> {
    const { docker } = this;
    const { id } = this.provided.get(of.instance_id)!;
    makeLegible(files);
    try {
      const made = imageConfig({ ...of, image: id }, holder, image, config, files);
      const Labels = { ...made.Labels, [DIGEST_LABEL]: digest };
      await docker.start(await docker.create(name, { ...made, Labels }));
    } catch (error) {
      await docker.remove(name).catch(() => undefined);
      throw imageError(error, image.reference, of.instance_id);
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
