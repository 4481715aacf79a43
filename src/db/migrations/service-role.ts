// The role that the API and the workers step down to, and its rights. They are given anew after every
// migration, from this one place, so that they hold for new tables, and for pg-boss's own, too.
import type { Sql } from '../connection/client.ts'
import { JOB_SCHEMA } from '../queue/queues.ts'

/** Belongs to the whole cluster: the databases in it share the name, each gives its own rights. */
export const SERVICE_ROLE = 'atomic_payments_service'

/** Tables of which the service may change nothing that is there. */
const READ_ONLY = ['tenants', 'api_keys']

/**
 * What operators make by /admin, in these columns and no others: a tenant that pays no fee, and a key for
 * anyone. Fees, and whether a tenant is disabled, are of whoever owns the database.
 */
const MADE_BY_OPERATORS = {
  tenants: ['id', 'name'],
  api_keys: ['tenant_id', 'id', 'prefix', 'secret_hash', 'scopes'],
}

/** How a key is ended; an UPDATE would also let the service revive one. */
const KEY_FUNCTIONS = ['retire_api_key(uuid, interval)', 'revoke_api_key(uuid)']

/** Tables that the service may only add to: Postgres itself refuses it an edit of the past. */
const APPEND_ONLY = ['ledger_postings', 'events', 'phase_runs', 'webhook_attempts', 'admin_actions']

/**
 * Other databases of the cluster may migrate at the same moment; whoever comes second finds what it
 * wanted. Since PostgreSQL 16 a member of a role need not have the right to step down to it.
 */
const makeRole = `
  do $$
  declare
    membership text := case
      when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
  begin
    begin
      if not exists (select from pg_roles where rolname = '${SERVICE_ROLE}') then
        create role ${SERVICE_ROLE} nologin;
      end if;
    exception when duplicate_object or unique_violation then null;
    end;
    if not pg_has_role(current_user, '${SERVICE_ROLE}', membership) then
      grant ${SERVICE_ROLE} to current_user;
    end if;
  exception when unique_violation then null;
  end $$
`

/** Sent together, these are one transaction: the service that runs meanwhile is never without rights. */
const grantRights = `
  grant usage on schema public, drizzle, ${JOB_SCHEMA} to ${SERVICE_ROLE};
  revoke all on all tables in schema public, drizzle, ${JOB_SCHEMA} from ${SERVICE_ROLE};
  grant select on all tables in schema drizzle to ${SERVICE_ROLE};
  grant select, insert, update, delete on all tables in schema public, ${JOB_SCHEMA} to ${SERVICE_ROLE};
  grant execute on function ${KEY_FUNCTIONS.join(', ')} to ${SERVICE_ROLE};
  revoke update, delete on ${APPEND_ONLY.join(', ')} from ${SERVICE_ROLE};
  revoke insert, update, delete on ${READ_ONLY.join(', ')} from ${SERVICE_ROLE};
  ${Object.entries(MADE_BY_OPERATORS)
    .map(
      ([table, columns]) => `grant insert (${columns.join(', ')}) on ${table} to ${SERVICE_ROLE};`,
    )
    .join('\n  ')}
`

/**
 * Makes the role unless it is there, lets the current user step down to it, and gives it its rights
 * in this database: to read which migrations were applied, and to work with all of our tables and
 * pg-boss's, but for the limits above. It can do no DDL, and no TRUNCATE.
 *
 * @throws the driver's error when the role is missing and the current user may not make roles.
 */
export async function grantServiceRights(sql: Sql): Promise<void> {
  await sql.unsafe(makeRole)
  await sql.unsafe(grantRights)
}
