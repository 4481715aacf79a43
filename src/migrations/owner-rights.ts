// Checks, before the first statement of a migration, that the user of DATABASE_URL may do what the
// migration does. With a managed database it is no superuser, and often may not create roles.
import { ConfigError } from '../config-error.ts'
import type { Sql } from '../db/connection/client.ts'
import { JOB_SCHEMA } from '../db/queue/jobs.ts'

interface OwnerRights {
  readonly user: string
  readonly database: string
  readonly roleExists: boolean
  readonly mayCreateRole: boolean
  readonly maySetRole: boolean
  readonly mayGrantRole: boolean
  readonly hasSchemas: boolean
  readonly mayCreateSchemas: boolean
  readonly mayCreateTables: boolean
}

/**
 * @param role the role that the API and the workers switch to.
 * @throws ConfigError with the statements that an administrator has to run.
 */
export async function requireOwnerRights(sql: Sql, role: string): Promise<void> {
  const rights = await readOwnerRights(sql, role)
  const statements = missingStatements(rights, role)
  if (statements.length === 0) return
  const { user, database, roleExists, maySetRole } = rights
  const isAnothers = roleExists && !maySetRole
  const hint = isAnothers
    ? `\n\nThe role ${role} exists already. If another owner's database uses it, set\n` +
      'DATABASE_SERVICE_ROLE to a name of your own instead, for the migration, the API and the workers:\n' +
      'who may switch to the role can read the tables of both databases.'
    : ''
  throw new ConfigError(
    `The user ${user} lacks rights. Let an administrator run this in the database ${database}, ` +
      `and migrate again:\n\n${statements.map((statement) => `  ${statement}`).join('\n')}${hint}`,
  )
}

/** Reads the rights of the current user that a migration needs. */
export async function readOwnerRights(sql: Sql, role: string): Promise<OwnerRights> {
  const [rights] = await sql<OwnerRights[]>`
    with own as (
      select
        rolsuper as is_super, rolcreaterole as creates_roles,
        current_setting('server_version_num')::int >= 160000 as has_options
      from pg_roles where rolname = current_user
    ),
    service as (select oid from pg_roles where rolname = ${role})
    select
      quote_ident(current_user) as user, quote_ident(current_database()) as database,
      service.oid is not null as "roleExists",
      is_super or creates_roles as "mayCreateRole",
      -- Since PostgreSQL 16, membership in a role does not imply the right to SET ROLE, and the right
      -- to create roles does not imply the right to grant those of others.
      coalesce(
        pg_has_role(current_user, service.oid, case when has_options then 'set' else 'member' end),
        false
      ) as "maySetRole",
      is_super or coalesce(
        case when has_options then pg_has_role(current_user, service.oid, 'member with admin option')
          else creates_roles end,
        false
      ) as "mayGrantRole",
      to_regnamespace('drizzle') is not null and to_regnamespace(${JOB_SCHEMA}) is not null
        as "hasSchemas",
      has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
      has_schema_privilege('public', 'create') as "mayCreateTables"
    from own left join service on true
  `
  if (rights === undefined) throw new Error('the current user is not in pg_roles')
  return rights
}

function missingStatements(rights: OwnerRights, role: string): string[] {
  const { user, database, roleExists, mayCreateRole, maySetRole, mayGrantRole } = rights
  const lacksRole = !roleExists && !mayCreateRole
  const lacksGrant = lacksRole || (roleExists && !maySetRole && !mayGrantRole)
  const lacksSchemas = !rights.hasSchemas && !rights.mayCreateSchemas
  return [
    ...(lacksRole ? [`create role ${role} nologin;`] : []),
    ...(lacksGrant ? [`grant ${role} to ${user};`] : []),
    ...(lacksSchemas ? [`grant create on database ${database} to ${user};`] : []),
    ...(rights.mayCreateTables ? [] : [`grant usage, create on schema public to ${user};`]),
  ]
}
