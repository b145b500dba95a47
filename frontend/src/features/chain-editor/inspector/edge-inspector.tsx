import { Button, Tooltip } from '@mantine/core';
import type { ChainEdge } from '@orrery/contract';
import { IconArrowRight, IconTrash } from '@tabler/icons-react';
import { attributesAt } from '../../../editor-model/attributes.js';
import { setEdgeRate, setFilter } from '../../../editor-model/edit.js';
import { nodeLabel, nodeOf } from '../../../editor-model/graph.js';
import { useDerived, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { RateInput } from '../../../shared/form/rate-input.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import { FilterRows } from './filter-rows.js';
import classes from './inspector.module.css';
import { ProblemNotes } from './problem-notes.js';
import { Section } from './section.js';

export function EdgeInspector({ edge, actions }: { readonly edge: ChainEdge; readonly actions: EditorActions }) {
  const { store, descriptors, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  const name = (id: string) => {
    const node = nodeOf(definition, id);
    return node ? nodeLabel(node) : id;
  };
  const own = problems.byEdge.get(edge.id) ?? [];
  const index = definition.edges.findIndex((each) => each.id === edge.id);
  return (
    <>
      <header className={classes.head}>
        <h2 className={classes.ends}>
          <span>{name(edge.from)}</span>
          <IconArrowRight size={14} aria-label="to" />
          <span>{name(edge.to)}</span>
        </h2>
        {!readOnly && (
          <span className={classes.headActions}>
            <Tooltip label="Delete">
              <Button
                variant="default"
                size="compact-xs"
                onClick={() => actions.removeSelected(false)}
                aria-label="Delete"
              >
                <IconTrash size={13} aria-hidden />
              </Button>
            </Tooltip>
          </span>
        )}
      </header>
      <ProblemNotes problems={own} />
      <Section title="Which packets">
        <FilterRows
          filter={edge.filter}
          attributes={attributesAt(definition, edge.from, descriptors)}
          readOnly={readOnly}
          empty="Every packet follows this connection."
          problemOf={(row) =>
            own.find((problem) => problem.pointer.startsWith(`/edges/${index}/filter/${row}/`))?.message ?? null
          }
          onChange={(filter, row) =>
            store.apply((before) => setFilter(before, edge.id, filter), `filter:${edge.id}:${row}`)
          }
        />
      </Section>
      <Section title="How much">
        <RateInput
          label="Estimated rate"
          description="Used to size the NFs downstream. Empty: derived from the class and the branches. 0: no traffic expected."
          placeholder="derived"
          value={edge.rate_bps ?? null}
          disabled={readOnly}
          onChange={(rate) => store.apply((before) => setEdgeRate(before, edge.id, rate), `rate:${edge.id}`)}
        />
      </Section>
      <Section title="Connection">
        <p className={classes.note}>
          Id <code>{edge.id}</code>
        </p>
      </Section>
    </>
  );
}
