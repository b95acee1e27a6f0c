"""XLSX workbooks: tabs written as XML, and added to a copy of a workbook."""
