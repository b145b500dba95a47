import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type BoardModule, Name, SynthesisFigures } from '@orrery/contract';
import { z } from 'zod';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';

/** Result of the open-source flow for a module (`fpga/syn/results`). */
const SynthesisResult = z.object({
  module: z.string(),
  ecp5: z.object({
    lut4: z.number(),
    ff: z.number(),
    ebr: z.number(),
    fmax_mhz: z.object({ speed6: z.number().nullable(), speed8: z.number().nullable() }),
  }),
  xc7: z.object({ lut: z.number(), ff: z.number(), bram18: z.number() }),
  cyclonev: z.object({ alm: z.number(), ff: z.number(), m10k: z.number() }),
});
type SynthesisResult = z.infer<typeof SynthesisResult>;

/** Published figures of a module. */
const Published = z.strictObject({
  source: z.string().max(80),
  lut: z.int().min(0),
  ff: z.int().min(0),
  bram_bits: z.int().min(0),
});
type Published = z.infer<typeof Published>;

/** What is known about modules apart from the flow's figures (`fpga/syn/modules.json`), by module. */
const ModuleNotes = z.record(
  Name,
  z.strictObject({
    /** Only for a module that is not an NF in the catalogue. */
    title: z.string().min(1).max(60).optional(),
    published: Published.optional(),
  }),
);
type ModuleNotes = z.infer<typeof ModuleNotes>;

const BITS_PER_KIB = 8192;

/** The modules that boards can load, with their synthesis figures; constant while the server runs. */
@Injectable()
export class ModuleLibrary implements OnModuleInit {
  modules: readonly BoardModule[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
  ) {}

  async onModuleInit(): Promise<void> {
    const notes = (await this.read(join(this.config.synthesis, 'modules.json'), ModuleNotes)) ?? {};
    const folder = join(this.config.synthesis, 'results');
    const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json')).sort();
    const results = await Promise.all(files.map((file) => this.read(join(folder, file), SynthesisResult)));
    this.modules = results.flatMap((result) => (result ? this.describe(result, notes) : []));
  }

  /** Null for an invalid file, which is logged. */
  private async read<S extends z.ZodType>(file: string, schema: S): Promise<z.infer<S> | null> {
    try {
      return schema.parse(JSON.parse(await readFile(file, 'utf8')));
    } catch (error) {
      const problem = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
      this.log.warn({ file, problem }, 'module information ignored');
      return null;
    }
  }

  private describe(result: SynthesisResult, notes: ModuleNotes): BoardModule[] {
    const id = result.module.replace(/^nf_/, '').replaceAll('_', '-');
    if (!Name.safeParse(id).success || ['shell', 'pass'].includes(id)) return [];
    const descriptor = this.catalogue.find(id);
    const { title, published } = notes[id] ?? {};
    return [
      {
        id,
        title: descriptor?.title ?? title ?? id,
        nf: descriptor ? id : null,
        published: published ? publishedOf(published) : null,
        synthesis: figuresOf(result),
      },
    ];
  }
}

function publishedOf({ bram_bits, ...rest }: Published): BoardModule['published'] {
  return { ...rest, bram_kib: bram_bits / BITS_PER_KIB };
}

function figuresOf({ ecp5, xc7, cyclonev }: SynthesisResult): SynthesisFigures[] {
  return [
    {
      family: 'Lattice ECP5',
      lut: ecp5.lut4,
      ff: ecp5.ff,
      bram_kib: ecp5.ebr * 2.25,
      fmax_mhz: ecp5.fmax_mhz.speed6,
      note: 'Yosys and nextpnr, speed grade 6, placed and routed out of context',
    },
    {
      family: 'Xilinx 7',
      lut: xc7.lut,
      ff: xc7.ff,
      bram_kib: xc7.bram18 * 2.25,
      fmax_mhz: null,
      note: 'Yosys estimate; no open-source flow can place it',
    },
    {
      family: 'Cyclone V ALM (Stratix V class)',
      lut: cyclonev.alm,
      ff: cyclonev.ff,
      bram_kib: cyclonev.m10k * 1.25,
      fmax_mhz: null,
      note: 'Yosys estimate, lower bound in ALMs; no open-source flow can place it',
    },
  ];
}
