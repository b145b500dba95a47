import { readFileSync } from 'node:fs';
import { CpuFeature } from '@orrery/contract';

/** What of the features that NFs ask for the processor has; none where the kernel does not tell. */
export function cpuFeatures(cpuinfo = '/proc/cpuinfo'): CpuFeature[] {
  let text: string;
  try {
    text = readFileSync(cpuinfo, 'utf8');
  } catch {
    return [];
  }
  const flags = new Set(/^flags\s*:(.*)$/m.exec(text)?.[1]?.trim().split(/\s+/));
  return CpuFeature.options.filter((feature) => flags.has(feature));
}
