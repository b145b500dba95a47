import { FLOW_SPACE } from '@orrery/contract';
import type { ReactNode } from 'react';
import { quantityText } from '../format/quantity.js';
import { BrokenName } from '../ui/broken-name.js';
import classes from './range-bar.module.css';
import { type SplitPart, shareOfHash } from './splits.js';

interface RangeBarProps {
  /** What is split, for a screen reader. */
  readonly label: string;
  readonly parts: readonly SplitPart[];
  /** What each target gets now. */
  readonly rateOf: (part: SplitPart) => ReactNode;
  /** Over which rates and shares of packets are averaged; absent: they are of the last report. */
  readonly windowS?: number;
  /** Flows in progress that a target has though its ranges do not hold them; absent: not counted. */
  readonly exceptionsOf?: (part: SplitPart) => ReactNode;
  /** Share of the packets that a target gets now; absent: not measured. */
  readonly liveShareOf?: (part: SplitPart) => ReactNode;
}

const COLOURS = 6;
export const colourOf = (index: number) => `var(--o-series-${(index % COLOURS) + 1})`;

/** The ranges of a hash by target, to scale, with their share of the hash range, the rate and the exceptions of each. */
export function RangeBar({ label, parts, rateOf, windowS, exceptionsOf, liveShareOf }: RangeBarProps) {
  const during = windowS === undefined ? '' : `, ${windowS}\u00a0s`;
  const mean = windowS === undefined ? undefined : `Mean of the last ${windowS} s, counted where the flows are split`;
  return (
    <div>
      <div className={classes.bar} aria-hidden>
        {parts.flatMap(({ to, ranges }, index) =>
          ranges.map(({ lo, hi }) => (
            <span
              key={`${to} ${lo}`}
              title={`${to}: [${lo}, ${hi})`}
              style={{
                left: `${(lo / FLOW_SPACE) * 100}%`,
                width: `${((hi - lo) / FLOW_SPACE) * 100}%`,
                background: colourOf(index),
              }}
            />
          )),
        )}
      </div>
      <div className={classes.scale} aria-hidden>
        <span>0</span>
        <span>{FLOW_SPACE}</span>
      </div>
      <table className={classes.parts}>
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr>
            <th scope="col">Target</th>
            <th scope="col" title="Share of the hash range; how many flows and packets that is depends on the traffic">
              Hash range
            </th>
            {liveShareOf && (
              <th scope="col" title={mean}>
                Packets{during}
              </th>
            )}
            <th scope="col" title={mean}>
              Rate{during}
            </th>
            {exceptionsOf && (
              <th scope="col" title="Flows in progress that stay there though its ranges no longer hold them">
                Exceptions
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {parts.map((part, index) => (
            <tr key={part.to}>
              <td>
                <span className={classes.key} style={{ background: colourOf(index) }} aria-hidden />
                <BrokenName name={part.to} /> <span className="muted">{part.server}</span>
              </td>
              <td title={part.ranges.map(({ lo, hi }) => `[${lo}, ${hi})`).join(', ')}>
                {quantityText('share', shareOfHash(part.ranges))}
              </td>
              {liveShareOf && <td>{liveShareOf(part)}</td>}
              <td>{rateOf(part)}</td>
              {exceptionsOf && <td>{exceptionsOf(part)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
