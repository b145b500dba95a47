import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type BoardModule, Name, SynthesisFigures } from '@orrery/contract';
import { z } from 'zod';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';

/** What the open flow wrote of a module (`fpga/syn/results`). */
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

/** CoNFV Table I, Stratix V 5SGXEA7N: LUTs, flip-flops, block memory in bits. */
const PUBLISHED: Readonly<Record<string, readonly [lut: number, ff: number, bits: number]>> = {
  nat: [56_345, 59_637, 18_202_624],
  'sqli-detector': [86_127, 51_009, 1_726_768],
  'ddos-detector': [16_273, 10_467, 1_191_936],
  'stateful-firewall': [11_328, 12_379, 1_442_816],
};
const TITLES: Readonly<Record<string, string>> = { 'aes-ctr': 'AES-CTR', 'sha256-hmac': 'SHA-256 and HMAC' };
const BITS_PER_KIB = 8192;

/** The modules that boards can load, with what the open flow found; fixed while the server runs. */
@Injectable()
export class ModuleLibrary implements OnModuleInit {
  modules: readonly BoardModule[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
  ) {}

  async onModuleInit(): Promise<void> {
    const folder = this.config.synthesis;
    const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json')).sort();
    const modules: BoardModule[] = [];
    for (const file of files) {
      const result = SynthesisResult.safeParse(JSON.parse(await readFile(join(folder, file), 'utf8')));
      if (result.success) modules.push(...this.describe(result.data));
      else this.log.warn({ file, problem: z.prettifyError(result.error) }, 'a synthesis result is left out');
    }
    this.modules = modules;
  }

  private describe(result: SynthesisResult): BoardModule[] {
    const id = result.module.replace(/^nf_/, '').replaceAll('_', '-');
    if (!Name.safeParse(id).success || ['shell', 'pass'].includes(id)) return [];
    const descriptor = this.catalogue.find(id);
    const published = PUBLISHED[id];
    return [
      {
        id,
        title: descriptor?.title ?? TITLES[id] ?? id,
        nf: descriptor ? id : null,
        published: published
          ? {
              source: 'CoNFV Table I, Stratix V',
              lut: published[0],
              ff: published[1],
              bram_kib: published[2] / BITS_PER_KIB,
            }
          : null,
        synthesis: figuresOf(result),
      },
    ];
  }
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
      note: 'Yosys estimate; no open flow places it',
    },
    {
      family: 'Cyclone V ALM (Stratix V class)',
      lut: cyclonev.alm,
      ff: cyclonev.ff,
      bram_kib: cyclonev.m10k * 1.25,
      fmax_mhz: null,
      note: 'Yosys estimate, ALMs at least; no open flow places it',
    },
  ];
}
