import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { DockerClient } from './docker-client.js';

const REPOSITORY = 'orrery/container-nf';
const PROGRAM = 'orrery-container-nf';
const LABEL = 'orrery.image=container-nf';
const ASK_LIMIT_MS = 10_000;

/** The image of all container NFs, from a tar file that contains one program; a copy of the program is beside it. */
export class NfImage {
  constructor(private readonly tar: string) {}

  /** NFs in the image. Rejects with the reason if it is not built or does not list them. */
  async nfs(): Promise<readonly string[]> {
    const program = join(dirname(this.tar), PROGRAM);
    try {
      const { stdout } = await promisify(execFile)(program, ['--nfs'], { timeout: ASK_LIMIT_MS });
      return z.array(z.string()).min(1).parse(JSON.parse(stdout));
    } catch (error) {
      const { killed, message } = error as Error & { killed?: boolean };
      const why = killed ? `no answer in ${ASK_LIMIT_MS / 1000} s` : message.trim().replaceAll(/\s+/g, ' ');
      throw new Error(`${program} --nfs: ${why}`);
    }
  }

  /** Name of the image in Docker once this resolves. */
  async provide(docker: DockerClient): Promise<string> {
    const digest = createHash('sha256')
      .update(await readFile(this.tar))
      .digest('hex');
    const tag = digest.slice(0, 12);
    const reference = `${REPOSITORY}:${tag}`;
    if (!(await docker.hasImage(reference)))
      await docker.importImage(REPOSITORY, tag, this.tar, [`ENTRYPOINT ["/${PROGRAM}"]`, `LABEL ${LABEL}`]);
    return reference;
  }

  /**
   * Removes other versions, and copies that lost their name to a simultaneous import. Images that containers use
   * remain.
   */
  async removeOthers(docker: DockerClient, reference: string): Promise<void> {
    const images = [...(await docker.images({ reference: REPOSITORY })), ...(await docker.images({ label: LABEL }))];
    const others = new Set(images.flatMap(({ id, tags }) => (tags.length > 0 ? tags : [id])));
    others.delete(reference);
    for (const other of others) await docker.removeImage(other);
  }
}
