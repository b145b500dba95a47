import type { ChainProblem } from '@orrery/contract';
import { IconPlus } from '@tabler/icons-react';
import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';
import { filterLabel } from '../../../editor-model/attributes.js';
import { edgeLabel } from '../../../editor-model/diff.js';
import { edgeOf } from '../../../editor-model/graph.js';
import { useDerived, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { edgePath } from './edge-path.js';
import classes from './flow-edge.module.css';

const NONE: readonly ChainProblem[] = [];

export type FlowEdgeType = Edge<{ offset: number }, 'flow'>;

/** A connection with its filter and estimate in the middle, and a button that puts an NF there. */
export const FlowEdge = memo(function FlowEdge(props: EdgeProps<FlowEdgeType>) {
  const { id, selected, data } = props;
  const { store, readOnly } = useEditorContext();
  const found = useDerived(({ problems, untouched }) => (untouched ? NONE : (problems.byEdge.get(id) ?? NONE)));
  const change = useDerived(
    ({ differences }) => differences.find((each) => each.part === 'edge' && each.id === id)?.change,
  );
  const edge = useEditor((state) => edgeOf(state.definition, id));
  const words = useEditor((state) => (edge ? edgeLabel(state.definition, edge) : ''));
  const drop = useEditor((state) => state.dropEdge === id);
  const { path, label } = edgePath(
    { x: props.sourceX, y: props.sourceY },
    { x: props.targetX, y: props.targetY },
    data?.offset ?? 0,
  );
  if (!edge) return null;
  const severity = found.some((each) => each.severity === 'error') ? 'error' : found.length > 0 ? 'warning' : undefined;
  const filter = filterLabel(edge.filter);
  return (
    <>
      <BaseEdge
        path={path}
        interactionWidth={24}
        markerEnd={props.markerEnd}
        className={classes.path}
        data-selected={selected || undefined}
        data-problem={severity}
        data-drop={drop || undefined}
        data-change={change}
      />
      <EdgeLabelRenderer>
        <div
          className={`${classes.label} nodrag nopan`}
          data-edge-label={id}
          data-selected={selected || undefined}
          data-problem={severity}
          data-drop={drop || undefined}
          style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
        >
          {(filter || (selected && edge.rate_bps !== undefined)) && (
            // Not in the order of Tab: the edge itself takes the focus and Enter.
            <button
              type="button"
              tabIndex={-1}
              className={classes.chip}
              title={found.map((each) => each.message).join('\n') || words}
              onClick={() => store.select({ edges: [id] })}
            >
              {filter && <span className={classes.filter}>{filter}</span>}
              {edge.rate_bps !== undefined && (
                <span className={classes.rate}>{quantityText('bps', edge.rate_bps)}</span>
              )}
            </button>
          )}
          {!readOnly && (
            <button
              type="button"
              className={classes.insert}
              aria-label={`Insert an NF on ${words}`}
              tabIndex={selected ? 0 : -1}
              onClick={(event) =>
                store.setState({
                  quickAdd: {
                    at: { x: event.clientX, y: event.clientY },
                    position: { x: label.x - 104, y: label.y - 38 },
                    purpose: { kind: 'insert', edge: id },
                  },
                })
              }
            >
              <IconPlus size={12} aria-hidden />
            </button>
          )}
        </div>
      </EdgeLabelRenderer>
    </>
  );
});
