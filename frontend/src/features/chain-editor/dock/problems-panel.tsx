import type { ChainProblem } from '@orrery/contract';
import { IconAlertTriangleFilled, IconCircleCheck, IconCircleXFilled } from '@tabler/icons-react';
import { edgeLabel } from '../../../editor-model/diff.js';
import { edgeOf, nodeLabel, nodeOf } from '../../../editor-model/graph.js';
import { useDerived, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { EmptyState } from '../../../shared/ui/states.js';
import classes from './problems-panel.module.css';

/** All problems of the chain; selecting one reveals it on the canvas. */
export function ProblemsPanel() {
  const { store } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  if (problems.all.length === 0) {
    return (
      <EmptyState icon={IconCircleCheck} title="No problems">
        The same checks as on the server, alone and together with deployed chains. The plan shows whether it fits.
      </EmptyState>
    );
  }
  const where = (problem: ChainProblem) => {
    const edge = problem.edge ? edgeOf(definition, problem.edge) : undefined;
    if (edge) return edgeLabel(definition, edge);
    const node = problem.node ? nodeOf(definition, problem.node) : undefined;
    if (node) return nodeLabel(node);
    return problem.pointer.startsWith('/traffic_class') ? 'Traffic class' : 'Chain';
  };
  const jump = ({ node, edge }: ChainProblem) => {
    store.select(edge ? { edges: [edge] } : node ? { nodes: [node] } : {});
    store.setState({ reveal: { node, edge, at: Date.now() } });
  };
  return (
    <ul className={classes.list} aria-label="Problems">
      {problems.all.map((problem) => (
        <li key={`${problem.pointer} ${problem.message}`}>
          <button type="button" className={classes.row} onClick={() => jump(problem)}>
            {problem.severity === 'error' ? (
              <IconCircleXFilled size={14} className={classes.error} aria-label="Error" />
            ) : (
              <IconAlertTriangleFilled size={14} className={classes.warning} aria-label="Warning" />
            )}
            <span className={classes.where}>{where(problem)}</span>
            <span className={classes.message}>{problem.message}</span>
            <code className={classes.pointer}>{problem.pointer}</code>
          </button>
        </li>
      ))}
    </ul>
  );
}
