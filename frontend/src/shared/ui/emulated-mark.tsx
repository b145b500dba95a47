import type { Origin } from '@orrery/contract';
import classes from './emulated-mark.module.css';

/** Marks a figure or element as emulated. Nothing for real equipment. */
export function EmulatedMark({ origin = 'twin' }: { readonly origin?: Origin }) {
  if (origin !== 'twin') return null;
  return (
    <span className={classes.mark} title="Emulated: runs in the twin, not on real equipment">
      emulated
    </span>
  );
}

/** Class name of the dashed outline for whatever frames an emulated thing. */
export const emulatedOutline = classes.outline;
