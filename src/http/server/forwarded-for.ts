// Removes the ports from X-Forwarded-For: some load balancers write the port of the client there, which
// is another one for each connection. Express would take it for a part of the address.
import type { NextFunction, Request, Response } from 'express'

const WITH_PORT = /^\s*(?:\[([\da-f:.]+)\](?::\d+)?|(\d{1,3}(?:\.\d{1,3}){3}):\d+)\s*$/i

export function removeForwardedPorts({ headers }: Request, _: Response, next: NextFunction): void {
  const forwarded = headers['x-forwarded-for']
  if (typeof forwarded === 'string') {
    headers['x-forwarded-for'] = forwarded.split(',').map(withoutPort).join(',')
  }
  next()
}

/** `192.0.2.1:4711`, `[2001:db8::1]:4711` and `[2001:db8::1]`; any other text stays. */
function withoutPort(text: string): string {
  const [, v6, v4] = WITH_PORT.exec(text) ?? []
  return v6 ?? v4 ?? text
}
