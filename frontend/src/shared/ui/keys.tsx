import { Fragment } from 'react';
import { keyLabels } from './commands.js';
import classes from './keys.module.css';

/** A shortcut as keys. */
export function Keys({ keys }: { readonly keys: string }) {
  return (
    <span className={classes.keys}>
      {keyLabels(keys).map((parts, index) => (
        <Fragment key={parts.join('+')}>
          {index > 0 && <span className={classes.then}>then</span>}
          {parts.map((part) => (
            <kbd key={part} className={classes.key}>
              {part}
            </kbd>
          ))}
        </Fragment>
      ))}
    </span>
  );
}
