import type { ChainProblem } from '@orrery/contract';
import { IconAlertTriangleFilled, IconCircleXFilled } from '@tabler/icons-react';
import classes from './inspector.module.css';

export function ProblemNotes({ problems }: { readonly problems: readonly ChainProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className={classes.problems}>
      {problems.map((problem) => (
        <li key={`${problem.pointer}${problem.message}`} data-severity={problem.severity}>
          {problem.severity === 'error' ? (
            <IconCircleXFilled size={14} aria-label="Error" />
          ) : (
            <IconAlertTriangleFilled size={14} aria-label="Warning" />
          )}
          <span>{problem.message}</span>
        </li>
      ))}
    </ul>
  );
}
