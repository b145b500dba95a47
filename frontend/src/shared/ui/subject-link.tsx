import { Link } from 'react-router';
import { useSubjectPath } from '../api/subject-path.js';
import { useSubjectTitle } from '../api/subject-title.js';
import classes from './subject-link.module.css';

/** The subject of an event or a decision by its title, linked to its page where it has one. */
export function SubjectLink({ subject }: { readonly subject: string }) {
  const title = useSubjectTitle()(subject);
  const path = useSubjectPath()(subject);
  if (path === null) return <span title={subject}>{title}</span>;
  return (
    <Link to={path} className={classes.link} title={subject}>
      {title}
    </Link>
  );
}
