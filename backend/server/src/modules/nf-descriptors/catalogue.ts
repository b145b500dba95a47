import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fieldErrors, NfDescriptor } from '@orrery/contract';

export interface LoadedCatalogue {
  readonly descriptors: readonly NfDescriptor[];
  /** One sentence for each unusable descriptor or folder. */
  readonly problems: readonly string[];
}

/** Reads `<folder>/<nf>/descriptor.json` of every folder; invalid ones are reported and skipped. */
export async function loadCatalogue(folders: readonly string[]): Promise<LoadedCatalogue> {
  const descriptors = new Map<string, NfDescriptor>();
  const problems: string[] = [];
  for (const folder of folders) {
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => {
      problems.push(`${folder}: ${error.message}`);
      return [];
    });
    for (const entry of entries.filter((each) => each.isDirectory()).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const file = join(folder, entry.name, 'descriptor.json');
      const text = await readFile(file, 'utf8').catch(() => null);
      if (text === null) continue;
      const result = readDescriptor(text);
      if (typeof result === 'string') problems.push(`${file}: ${result}`);
      else if (descriptors.has(result.id)) problems.push(`${file}: duplicate NF "${result.id}"`);
      else descriptors.set(result.id, result);
    }
  }
  return { descriptors: [...descriptors.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), problems };
}

function readDescriptor(text: string): NfDescriptor | string {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    return (error as Error).message;
  }
  const parsed = NfDescriptor.safeParse(content);
  if (parsed.success) return parsed.data;
  return fieldErrors(parsed.error)
    .map(({ pointer, detail }) => `${pointer} ${detail}`)
    .join('; ');
}
