import classes from './log-tail.module.css';

interface LogTailProps {
  /** Null: nothing is known (yet). */
  readonly text: string | null;
  /** Why not all of it is shown; null: all that there is. */
  readonly note?: string | null;
  readonly onOpen?: (isOpen: boolean) => void;
}

/** The last lines that a program wrote, folded away. */
export function LogTail({ text, note = null, onOpen }: LogTailProps) {
  return (
    <details className={classes.log} onToggle={({ currentTarget: { open } }) => onOpen?.(open)}>
      <summary>Last lines of its log</summary>
      {text && <pre>{text}</pre>}
      {note && <p>{note}</p>}
      {!text && !note && <p>It wrote nothing, or its agent does not have it.</p>}
    </details>
  );
}
