import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LoadKind } from '@orrery/contract';
import { z } from 'zod';
import { firstIssue } from '../../platform/first-issue.js';
import { BoardError, type BoardImage } from './board-port.js';

/** `images.json` of a directory: what its bitstreams contain, for boards whose files do not say so themselves. */
const ListedImages = z
  .array(
    z.strictObject({
      file: z.string().regex(/^[^/\0]{1,200}$/, 'must be the name of a file in the same directory'),
      kind: LoadKind,
      modules: z
        .array(z.strictObject({ slot: z.int().min(0).max(15), module: z.string().min(1).max(60).nullable() }))
        .min(1),
    }),
  )
  .max(256);

/** The images listed in `images.json`; none if there is no such file. */
export function listedImages(directory: string): BoardImage[] {
  const list = join(directory, 'images.json');
  let text: string;
  try {
    text = readFileSync(list, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const parsed = ListedImages.safeParse(parseJson(list, text));
  if (!parsed.success) throw new BoardError(`${list}: ${firstIssue(parsed.error)}`, 'failed');
  return parsed.data.map(({ file, kind, modules }) => {
    const path = join(directory, file);
    return { path, bytes: sizeOf(path), kind, modules: new Map(modules.map(({ slot, module }) => [slot, module])) };
  });
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BoardError(`${path} is not JSON: ${(error as Error).message}`, 'failed');
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new BoardError((error as Error).message, 'failed');
  }
}

/** Files of a directory, in an order that does not depend on the file system; none if it does not exist. */
export function filesOf(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => join(directory, name))
      .sort();
  } catch {
    return [];
  }
}

/**
 * The image that puts `module` into `slot`. A full image replaces every slot, so it must also contain what `wanted`
 * requires in the others.
 */
export function chooseImage(
  images: readonly BoardImage[],
  kind: LoadKind,
  slot: number,
  module: string,
  wanted: ReadonlyMap<number, string>,
): BoardImage | null {
  const fits = images.filter((image) => image.kind === kind && image.modules.get(slot) === module);
  if (kind === 'partial') return fits[0] ?? null;
  const agrees = (image: BoardImage) => [...wanted].every(([other, needed]) => image.modules.get(other) === needed);
  return fits.find(agrees) ?? null;
}
