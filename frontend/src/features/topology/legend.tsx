import { usePalette } from '../../shared/theme/palette.js';
import { rateWidth, utilizationColor } from './draw-link.js';
import { JOINT_PATH, JOINT_SIZE, JOINT_TEXT } from './joints.js';
import type { JointKind } from './running-joints.js';
import classes from './topology.module.css';

const WIDTHS = [0.02, 0.25, 1];
const STEPS = 24;

interface LegendProps {
  /** What is drawn besides NFs. */
  readonly joints: readonly JointKind[];
}

/** What width, colour, dashes and shapes mean. */
export function Legend({ joints }: LegendProps) {
  const palette = usePalette();
  return (
    <dl className={classes.legend}>
      <div>
        <dt>Width: rate</dt>
        <dd>
          <svg width="66" height="10" aria-hidden="true">
            {WIDTHS.map((share, index) => (
              <line
                key={share}
                x1={index * 22 + 2}
                x2={index * 22 + 20}
                y1="5"
                y2="5"
                stroke="currentColor"
                strokeWidth={rateWidth(share, 1)}
              />
            ))}
          </svg>
        </dd>
      </div>
      <div>
        <dt>Colour: utilization</dt>
        <dd>
          <span className="tabular">0</span>
          <svg width="72" height="8" aria-hidden="true">
            {[...Array(STEPS).keys()].map((step) => (
              <rect key={step} x={step * 3} width="3" height="8" fill={utilizationColor(step / (STEPS - 1), palette)} />
            ))}
          </svg>
          <span className="tabular">100 %</span>
        </dd>
      </div>
      <div>
        <dt>Dashed outline: emulated</dt>
        <dd>
          <svg width="34" height="14" aria-hidden="true">
            <rect x="1" y="1" width="32" height="12" rx="3" fill="none" stroke="currentColor" strokeDasharray="5 3" />
          </svg>
        </dd>
      </div>
      <div>
        <dt>Red dots: down</dt>
        <dd>
          <svg width="34" height="8" aria-hidden="true">
            <line x1="1" x2="33" y1="4" y2="4" stroke={palette.failed} strokeWidth="2" strokeDasharray="2 5" />
          </svg>
        </dd>
      </div>
      <div>
        <dt>Triangle: out of service, in trouble, or its link is down</dt>
        <dd>
          <svg width="14" height="13" aria-hidden="true">
            <path d="M7 1L13 12H1Z" fill={palette.failed} />
          </svg>
        </dd>
      </div>
      {joints.map((kind) => (
        <div key={kind}>
          <dt>{JOINT_TEXT[kind]}</dt>
          <dd>
            <svg width={JOINT_SIZE + 2} height={JOINT_SIZE + 2} viewBox="-7 -7 14 14" aria-hidden="true">
              <path d={JOINT_PATH[kind]} fill="none" stroke={palette.accent} strokeWidth="1.5" />
            </svg>
          </dd>
        </div>
      ))}
    </dl>
  );
}
