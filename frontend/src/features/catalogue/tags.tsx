import classes from './catalogue.module.css';

export function Tags({ items }: { readonly items: readonly string[] }) {
  if (items.length === 0) return <span className="muted">none</span>;
  return (
    <span className={classes.tags}>
      {items.map((item) => (
        <code key={item}>{item}</code>
      ))}
    </span>
  );
}
