import type { ChainDefinition } from '@orrery/contract';
import { TILE, withPositions } from '../../editor-model/edit.js';
import classes from './new-chain.module.css';

/** The shape of a chain, small. */
export function ChainThumbnail({ definition }: { readonly definition: ChainDefinition }) {
  const nodes = withPositions(definition).nodes;
  const xs = nodes.map((node) => node.position!.x);
  const ys = nodes.map((node) => node.position!.y);
  const [left, top] = [Math.min(...xs) - 40, Math.min(...ys) - 40];
  const width = Math.max(...xs) + TILE.width + 40 - left;
  const height = Math.max(Math.max(...ys) + TILE.height + 40 - top, width * 0.42);
  const middle = (Math.min(...ys) + Math.max(...ys) + TILE.height) / 2;
  const at = new Map(nodes.map((node) => [node.id, node.position!]));
  return (
    <svg className={classes.thumbnail} viewBox={`${left} ${middle - height / 2} ${width} ${height}`} aria-hidden="true">
      {definition.edges.map((edge) => {
        const from = at.get(edge.from)!;
        const to = at.get(edge.to)!;
        return (
          <line
            key={edge.id}
            x1={from.x + TILE.width}
            y1={from.y + TILE.height / 2}
            x2={to.x}
            y2={to.y + TILE.height / 2}
          />
        );
      })}
      {nodes.map((node) => (
        <rect
          key={node.id}
          x={node.position!.x}
          y={node.position!.y}
          width={TILE.width}
          height={TILE.height}
          rx={12}
          data-kind={node.kind}
        />
      ))}
    </svg>
  );
}
