import { sampleKey } from '@orrery/contract/sample-keys';
import type { ChartSeries } from '../../../shared/charts/chart-series.js';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { DetailSection } from '../../../shared/ui/detail-panel.js';
import type { Target } from '../frame.js';
import type { Scene, SceneLink, SceneNode } from '../model.js';
import classes from '../topology.module.css';

/** More lines than this are indistinguishable in a chart. */
const CHARTED_LINKS = 6;

export const linksOf = ({ id }: SceneNode, { links }: Scene): readonly SceneLink[] =>
  [...links.values()].filter(({ a, b }) => a === id || b === id);

interface LinkRatesProps {
  readonly title: string;
  readonly node: SceneNode;
  readonly links: readonly SceneLink[];
  readonly series: (link: SceneLink) => readonly ChartSeries[];
}

export function LinkRates({ title, node, links, series }: LinkRatesProps) {
  if (links.length === 0 || links.length > CHARTED_LINKS) return null;
  return (
    <TimeSeriesChart
      title={title}
      quantity="bps"
      emulated={node.origin === 'twin'}
      height={150}
      series={links.flatMap(series)}
    />
  );
}

/** Rate from the node into the link. */
export const sentKey = ({ id, a }: SceneLink, node: SceneNode) =>
  sampleKey('link', id, a === node.id ? 'a_to_b_bps' : 'b_to_a_bps');
/** Rate from the link into the node. */
export const receivedKey = ({ id, a }: SceneLink, node: SceneNode) =>
  sampleKey('link', id, a === node.id ? 'b_to_a_bps' : 'a_to_b_bps');

interface LinkListProps {
  readonly node: SceneNode;
  readonly links: readonly SceneLink[];
  readonly onSelect: (target: Target) => void;
}

/** Links of a node by their other end. */
export function LinkList({ node, links, onSelect }: LinkListProps) {
  return (
    <DetailSection title={`Links (${links.length})`}>
      <ul className={classes.instances}>
        {links.map(({ id, a, b, ports, bandwidth_bps }) => (
          <li key={id}>
            <button type="button" onClick={() => onSelect({ kind: 'link', id })}>
              <span title={id}>
                to {a === node.id ? b : a}{' '}
                <span className="muted">
                  {a === node.id ? ports.a : ports.b} – {a === node.id ? ports.b : ports.a}
                </span>
              </span>
              <span className="muted">{quantityText('bps', bandwidth_bps)}</span>
            </button>
          </li>
        ))}
      </ul>
    </DetailSection>
  );
}
