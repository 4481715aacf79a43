// Makes objects of rows, so that the select list of a statement says what a function returns.
import type postgres from 'postgres'

const TIMESTAMP = 1184

/**
 * The rows with the names and types of the schema: members in camel case, timestamps as dates.
 *
 * @typeParam Item what the select list has.
 */
export function recordsOf<Item>(rows: postgres.RowList<readonly postgres.Row[]>): Item[] {
  const members = rows.columns.map(({ name, type }) => ({
    name,
    member: name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    isTime: type === TIMESTAMP,
  }))
  return rows.map((row) => {
    const values = members.map(({ name, member, isTime }) => {
      const value: unknown = row[name]
      return [member, isTime && value !== null ? new Date(value as string) : value]
    })
    return Object.fromEntries(values) as Item
  })
}
