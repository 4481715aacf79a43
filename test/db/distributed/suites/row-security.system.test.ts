import './in-parts.ts'
import '../../../db/connection/row-security.test.ts'
