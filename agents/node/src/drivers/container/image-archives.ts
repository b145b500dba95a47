import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ShippedImage } from '../legacy/registry.js';

/** Images of NFs that came with the agent, saved by `npm run build:images`: `<nf>.tar` in a folder. */
export class ImageArchives {
  constructor(
    private readonly folder: string,
    private readonly shipped: readonly ShippedImage[],
  ) {}

  /** Of those that are there now. */
  get references(): string[] {
    return this.shipped.flatMap(({ image: { reference } }) => (this.fileOf(reference) ? [reference] : []));
  }

  /** The file with an image; null: there is none. */
  fileOf(reference: string): string | null {
    const found = this.shipped.find(({ image }) => image.reference === reference);
    const file = found && join(this.folder, `${found.nf}.tar`);
    return file && existsSync(file) ? file : null;
  }
}
