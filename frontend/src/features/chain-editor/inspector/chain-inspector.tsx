import { useDerived, useEditor } from '../../../shared/chain-draft/context.js';
import { ClassSloForm } from './class-slo-form.js';
import { DetailsForm } from './details-form.js';
import classes from './inspector.module.css';
import { ProblemNotes } from './problem-notes.js';
import { SloForm } from './slo-form.js';
import { TrafficClassForm } from './traffic-class-form.js';

/** Settings of the chain as a whole: traffic class, objectives and names. */
export function ChainInspector() {
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  return (
    <>
      <header className={classes.head}>
        <h2>Chain</h2>
      </header>
      <ProblemNotes problems={problems.all.filter((problem) => !problem.node && !problem.edge)} />
      <TrafficClassForm definition={definition} />
      <SloForm definition={definition} />
      <ClassSloForm definition={definition} />
      <DetailsForm definition={definition} />
    </>
  );
}
