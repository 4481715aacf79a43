// The setting by which a transaction names the tenants whose rows it sees: see transaction.ts. Row-level
// security (drizzle/0000_schema.sql) enforces it, behind the predicates of each statement. What names
// none reads no row and can write none. The setting is local to a transaction, so it leaves nothing on a
// connection that a pooler hands to another client.

/** The name of the policy of each table of tenants. */
export const TENANT_POLICY = 'seen_by_its_tenant'
/** The setting that the policies read. */
export const TENANTS_SETTING = 'atomic.tenants'
/** The value of the setting for a statement that sees all tenants. */
export const EVERY_TENANT = '*'
