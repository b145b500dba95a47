import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkP4Program, Name, type P4Content, P4ProgramUpload } from '@orrery/contract';
import { z } from 'zod';
import { sha256 } from '../../platform/ids.js';

const Listed = z.record(Name, z.strictObject({ title: P4ProgramUpload.shape.title, summary: z.string().max(500) }));

/** A program that came with Orrery. */
export interface ExampleProgram extends P4ProgramUpload {
  readonly summary: string;
  readonly hash: string;
  readonly content: P4Content;
}

export interface Examples {
  readonly programs: readonly ExampleProgram[];
  /** What could not be read, in words. */
  readonly problems: readonly string[];
}

export const hashOf = ({ bmv2_json, p4info }: Pick<P4ProgramUpload, 'bmv2_json' | 'p4info'>): string =>
  sha256(bmv2_json + p4info);

/** Those that `examples.json` of the directory lists, each with its JSON and P4Info beside it. */
export function readExamples(directory: string): Examples {
  const programs: ExampleProgram[] = [];
  const problems: string[] = [];
  try {
    const listed = Listed.parse(JSON.parse(readFileSync(join(directory, 'examples.json'), 'utf8')));
    for (const [name, about] of Object.entries(listed)) {
      const files = {
        bmv2_json: readFileSync(join(directory, `${name}.json`), 'utf8'),
        p4info: readFileSync(join(directory, `${name}.p4info.txtpb`), 'utf8'),
      };
      const checked = checkP4Program(files);
      if ('errors' in checked) problems.push(`${name}: ${checked.errors[0]!.detail}`);
      else programs.push({ name, ...about, ...files, hash: hashOf(files), content: checked.content });
    }
  } catch (error) {
    problems.push(`${directory}: ${(error as Error).message}`);
  }
  return { programs, problems };
}
