import { countText } from './number.js';

const NAMES: Record<string, string> = { lut: 'LUT', ff: 'FF', 'bram-kib': 'KiB BRAM', dsp: 'DSP' };

/** `120,000 LUT, 3,000 KiB BRAM` */
export function resourcesText(resources: Readonly<Record<string, number>>): string {
  return Object.entries(resources)
    .map(([name, count]) => `${countText(count)} ${NAMES[name] ?? name}`)
    .join(', ');
}
